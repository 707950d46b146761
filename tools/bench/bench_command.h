/*
 * The command that measures a mount. This room, bench/, knows processes that do the same thing again and again, and how long
 * it takes them. It calls cli/ and client/.
 */
#ifndef TOOLS_BENCH_COMMAND_H
#define TOOLS_BENCH_COMMAND_H

#include "command.h"

command_fn cmd_bench;

#endif
