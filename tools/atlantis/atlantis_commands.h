/*
 * The commands that exchange locks and pull requests with Atlantis: its Bolt file, its Redis, lines of JSON. This room,
 * atlantis/, knows what the tree holds as Atlantis' records. It calls cli/ and client/.
 */
#ifndef TOOLS_ATLANTIS_COMMANDS_H
#define TOOLS_ATLANTIS_COMMANDS_H

#include "command.h"

command_fn cmd_export;
command_fn cmd_import;
command_fn cmd_mirror;
command_fn cmd_verify;

#endif
