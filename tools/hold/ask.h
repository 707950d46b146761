/* How a lock is asked for, as options of several commands: --wait, --priority, --ttl, --reason, --who, --key, --quiet, --every. */
#ifndef TOOLS_ASK_H
#define TOOLS_ASK_H

#include <atlock.h>
#include <stdint.h>

#include "choice.h"

#define ASK_REASON_MAX 700 /* bytes */

struct ask {
	int64_t wait;  /* 0: not at all */
	int64_t every; /* as struct waiting has it */
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
