/*
 * The command about the log of events. This room, audit/, knows events as lines: it checks their chain of hashes, searches
 * them and archives them. It calls cli/ and client/.
 */
#ifndef TOOLS_AUDIT_COMMAND_H
#define TOOLS_AUDIT_COMMAND_H

#include "command.h"

command_fn cmd_audit;

#endif
