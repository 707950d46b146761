/*
 * The commands that show what is there and change nothing. This room, look/, knows lists, the picture of who waits for whom,
 * and what a healthy mount looks like. It calls cli/ and client/.
 */
#ifndef TOOLS_LOOK_COMMANDS_H
#define TOOLS_LOOK_COMMANDS_H

#include "command.h"

command_fn cmd_doctor;
command_fn cmd_graph;
command_fn cmd_ls;
command_fn cmd_policy;
command_fn cmd_queue;
command_fn cmd_show;
command_fn cmd_status;

#endif
