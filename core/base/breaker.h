/*
 * A circuit breaker around something that can be slow or down: a hook's command, later a remote engine. Closed, calls go through;
 * after `failures` in a row it opens, and calls are refused at once; after a pause one call is let through to try (half open):
 * it closes the breaker, or opens it again for twice as long, up to `pause_max`. Pauses vary by up to a quarter, so that many
 * do not come back at the same moment.
 *
 * A state machine and nothing else: the caller brings the time and chance, and guards it with a mutex of his own.
 */
#ifndef CORE_BREAKER_H
#define CORE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };

struct breaker_limits {
	unsigned int failures; /* in a row, until it opens; at least 1 */
	int64_t pause;         /* nanoseconds until it is tried again, doubled each time that fails */
	int64_t pause_max;
};

struct breaker {
	const struct breaker_limits *limits;
	enum breaker_state state;
	unsigned int failed; /* in a row */
	int64_t pause;       /* the next one, before chance */
	int64_t until;       /* BREAKER_OPEN: when it may be tried */
	uint64_t opened;     /* times it opened, for metrics */
};

/* `limits` must outlive it. */
void breaker_init(struct breaker *breaker, const struct breaker_limits *limits);

/* Whether a call may go through now; if so its end must be told. */
bool breaker_admit(struct breaker *breaker, int64_t now);
void breaker_done(struct breaker *breaker, bool ok, int64_t now, uint64_t random);

/* "closed", "open", "half-open". Never NULL. */
const char *breaker_state_name(enum breaker_state state);

/* The next pause before trying something again: `pause` varied by up to a quarter; `pause` is then doubled, up to `max`. */
int64_t breaker_backoff(int64_t *pause, int64_t max, uint64_t random);

#endif
