/*
 * The commands that take locks, keep them and give them back, for as long as a command runs if that is wanted. This room,
 * hold/, knows how a lock is asked for, the processes of `atlock run`, and apps that are probed. It calls cli/ and client/.
 */
#ifndef TOOLS_HOLD_COMMANDS_H
#define TOOLS_HOLD_COMMANDS_H

#include "command.h"

command_fn cmd_force_unlock;
command_fn cmd_guard;
command_fn cmd_lock;
command_fn cmd_renew;
command_fn cmd_run;
command_fn cmd_transfer;
command_fn cmd_unlock;
command_fn cmd_wait;

#endif
