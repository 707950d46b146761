/*
 * How a lock is asked for, as options of several commands: --wait, --priority, --ttl, --reason, --who, --key, --quiet, --every,
 * --retries, --backoff.
 */
#ifndef TOOLS_ASK_H
#define TOOLS_ASK_H

#include <atlock.h>
#include <stdint.h>

#include "choice.h"

#define ASK_REASON_MAX 700 /* bytes */

/* Further tries where another holder has a lock, each with its own wait. */
struct ask_again {
	int64_t retries;
	int64_t least; /* before the first a pause at random up to this, then up to twice that, and so on */
	int64_t most;  /* at most up to this; 0: ASK_LEAST, ASK_MOST */
};

#define ASK_LEAST (ATLOCK_SECOND / 5)
#define ASK_MOST (10 * ATLOCK_SECOND)

struct ask {
	struct ask_again again; /* --retries, --backoff */
	int64_t wait;           /* 0: not at all */
	int64_t every;          /* as struct waiting has it */
	const char *ttl;
	const char *priority;
	const char *reason;
	char who[ATLOCK_WHO_MAX + 2]; /* "@build-17", or "" */
	char *keys;                   /* lines "key=value\n", or NULL */
};

/* Takes one of them, as a choice_fn does. */
int ask_option(const struct tool *tool, struct ask *ask, int letter);

/* The lines that say so in a request, to be freed; NULL without memory. */
char *ask_text(const struct ask *ask);
void ask_free(struct ask *ask);

#endif
