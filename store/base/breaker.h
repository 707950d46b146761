/*
 * A circuit breaker around something that can be slow or down: a hook's command, an engine that hosts share. While it is
 * closed, calls go through. After `failures` failures in a row it opens and refuses calls at once. After a pause it
 * admits one trial call (half open): success closes the breaker, failure opens it again for twice as long, up to
 * `pause_max`. Pauses vary by up to a quarter, so that many clients do not retry at the same moment.
 *
 * A state machine only: the caller passes the time and random numbers, and protects the breaker with its own mutex.
 */
#ifndef STORE_BREAKER_H
#define STORE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };

struct breaker_limits {
	unsigned int failures; /* failures in a row that open it; at least 1 */
	int64_t pause;         /* nanoseconds before the first trial call; doubles with each failed trial */
	int64_t pause_max;
};

struct breaker {
	const struct breaker_limits *limits;
	enum breaker_state state;
	unsigned int failed; /* failures in a row */
	int64_t pause;       /* next pause, before random variation */
	int64_t until;       /* BREAKER_OPEN: when a trial call is allowed */
	uint64_t opened;     /* times it opened, for metrics */
};

/* `limits` must outlive the breaker. */
void breaker_init(struct breaker *breaker, const struct breaker_limits *limits);

/* Whether a call may go through now. If so, report its result with breaker_done(). */
bool breaker_admit(struct breaker *breaker, int64_t now);
void breaker_done(struct breaker *breaker, bool ok, int64_t now, uint64_t random);

/* Returns the next pause before a retry: `pause` varied by up to a quarter. Then doubles `pause`, up to `max`. */
int64_t breaker_backoff(int64_t *pause, int64_t max, uint64_t random);

#endif
