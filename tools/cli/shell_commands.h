/*
 * The commands about the program itself. This room, cli/, knows words: how a command line is read, what is wrong with it, how
 * help and results look on a terminal and elsewhere. It calls the library only, and knows neither mounts nor locks.
 */
#ifndef TOOLS_SHELL_COMMANDS_H
#define TOOLS_SHELL_COMMANDS_H

#include "command.h"

command_fn cmd_completion;
command_fn cmd_help;

#endif
