/*
 * The commands about a store as files: copies, checks, keys. This room, store/, opens stores without a mount, through the
 * library's public functions. It calls cli/ and client/.
 */
#ifndef TOOLS_STORE_COMMANDS_H
#define TOOLS_STORE_COMMANDS_H

#include "command.h"

command_fn cmd_backup;
command_fn cmd_fsck;
command_fn cmd_key;
command_fn cmd_migrate;
command_fn cmd_realm;
command_fn cmd_restore;

/* The same for a realm: its copy is a file. */
int realm_backup(const struct tool *tool, const char *uri, const char *to);
int realm_restore(const struct tool *tool, const char *uri, const char *from);

#endif
