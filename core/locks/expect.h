/*
 * Estimates how long a wait will last, from past hold times of the lock, and derives a timeout from it. Private to core/; all but
 * expect_timeout() runs inside an operation's transaction.
 */
#ifndef CORE_EXPECT_H
#define CORE_EXPECT_H

#include "table.h"

/* queue_timeout=auto: EXPECT_FACTOR times the expected wait, within these limits; EXPECT_UNKNOWN without a known hold time. */
#define EXPECT_FACTOR 3
#define EXPECT_LEAST (60 * ATLOCK_SECOND)
#define EXPECT_MOST (24 * 3600 * ATLOCK_SECOND)
#define EXPECT_UNKNOWN (600 * ATLOCK_SECOND)

#define EXPECT_WAITS 20 /* fewer that ended say nothing of their share */
#define EXPECT_LATE 4   /* most that a small share makes a timeout longer */
#define EXPECT_CROWD 4  /* waiters for each held lock that are normal; twice as many make a timeout twice as long */

/*
 * Time until the ticket at `position` (1 is next) is served: the rest of the mean hold time for the present holder, and one mean
 * hold time for each ticket before this one. -1 if no hold time of the lock is known.
 */
int expect_wait(struct op *op, struct slice lock, uint64_t position, int64_t *out);

/* The timeout that queue_timeout=auto derives from an expected wait. */
int64_t expect_timeout(int64_t expected);

/* How waits went since the manager was opened, and how many wait now. */
struct expect_load {
	uint64_t served;    /* waits that ended with the lock */
	uint64_t timed_out; /* and those that did not in time */
	uint64_t held;
	uint64_t waiting;
};

/*
 * Makes such a timeout longer where waits end too early: by the share of waits that ended in time (half of them: twice as long), and by up to
 * twice where many wait for each held lock. Never more than EXPECT_MOST.
 */
int64_t expect_stretch(const struct expect_load *load, int64_t timeout);

/* The same for a caller that joins the queue with this priority now. */
int expect_patience(struct op *op, struct slice lock, uint8_t priority, int64_t *timeout);

#endif
