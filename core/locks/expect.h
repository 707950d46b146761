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

/*
 * Time until the ticket at `position` (1 is next) is served: the rest of the mean hold time for the present holder, and one mean
 * hold time for each ticket before this one. -1 if no hold time of the lock is known.
 */
int expect_wait(struct op *op, struct slice lock, uint64_t position, int64_t *out);

/* The timeout that queue_timeout=auto derives from an expected wait. */
int64_t expect_timeout(int64_t expected);

/* The same for a caller that joins the queue with this priority now. */
int expect_patience(struct op *op, struct slice lock, uint8_t priority, int64_t *timeout);

#endif
