/* How a lock is asked for, as options of several commands: --wait, --priority, --ttl. */
#ifndef TOOLS_ASK_H
#define TOOLS_ASK_H

#include <atlock.h>
#include <stdint.h>

#include "command.h"

struct ask {
	int64_t wait; /* 0: not at all */
	const char *ttl;
	const char *priority;
};

#define ASK_SHORT "w:p:t:"
#define ASK_LONG                                                                                \
	{ "wait", required_argument, NULL, 'w' }, { "priority", required_argument, NULL, 'p' }, \
	{                                                                                       \
		"ttl", required_argument, NULL, 't'                                             \
	}

/* One of them, or else one that every command has. -1: go on; else the exit code. */
int ask_option(struct tool *tool, struct ask *ask, int option);

/* The lines that say so in a request; `more` follows. */
void ask_text(const struct ask *ask, const char *more, char *out, size_t len);

#endif
