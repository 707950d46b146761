/* The two halves of atlock audit. Each gets the words from its own name on. */
#ifndef TOOLS_AUDIT_H
#define TOOLS_AUDIT_H

#include "command.h"

command_fn audit_show;
command_fn audit_verify;

#endif
