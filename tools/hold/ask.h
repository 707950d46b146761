/* How a lock is asked for, as options of several commands: --wait, --priority, --ttl. */
#ifndef TOOLS_ASK_H
#define TOOLS_ASK_H

#include <atlock.h>
#include <stdint.h>

#include "choice.h"

struct ask {
	int64_t wait; /* 0: not at all */
	const char *ttl;
	const char *priority;
};

/* Takes one of them, as a choice_fn does. */
int ask_option(const struct tool *tool, struct ask *ask, int letter);

/* The lines that say so in a request; `more` follows. */
void ask_text(const struct ask *ask, const char *more, char *out, size_t len);

#endif
