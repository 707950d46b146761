/*
 * How long a wait will last, going by how long the lock was held before, and for how long it is worth waiting. Private to core/;
 * all but expect_timeout() runs inside an operation's transaction.
 */
#ifndef CORE_EXPECT_H
#define CORE_EXPECT_H

#include "table.h"

/* queue_timeout=auto: so many times the expected wait, but not less or more than this; and this if nothing is known. */
#define EXPECT_FACTOR 3
#define EXPECT_LEAST (60 * ATLOCK_SECOND)
#define EXPECT_MOST (24 * 3600 * ATLOCK_SECOND)
#define EXPECT_UNKNOWN (600 * ATLOCK_SECOND)

/*
 * Until the ticket at `position` (1 is next) is served: what is left of the mean hold time to the present holder, and that mean
 * for each who comes before. -1 if nothing is known of the lock.
 */
int expect_wait(struct op *op, struct slice lock, uint64_t position, int64_t *out);

/* What queue_timeout=auto makes of an expected wait. */
int64_t expect_timeout(int64_t expected);

/* The same for whoever joins the queue with this priority now. */
int expect_patience(struct op *op, struct slice lock, uint8_t priority, int64_t *timeout);

#endif
