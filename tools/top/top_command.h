/*
 * The command that shows locks and queues as they change. This room, top/, knows the screen, the keys, the thread that reads
 * and what it found; nothing else knows ncurses. It calls cli/ and client/.
 */
#ifndef TOOLS_TOP_COMMAND_H
#define TOOLS_TOP_COMMAND_H

#include "command.h"

command_fn cmd_top;

#endif
