/* Takes one lock for one caller: at once, or with a ticket in its queue if another holder has it. Private to core/. */
#ifndef CORE_ACQUIRE_H
#define CORE_ACQUIRE_H

#include "table.h"
#include "text.h"

/* The outcome. */
enum acquire_outcome {
	ACQUIRE_NEW,    /* it was free */
	ACQUIRE_AGAIN,  /* the caller had it already */
	ACQUIRE_QUEUED, /* the caller waits for it */
	ACQUIRE_WAITS,  /* the caller had a ticket already */
};

struct acquire {
	const struct atlock_request *req;
	bool joins; /* joins the queue if another holder has the lock */
	struct text_change change;
	enum atlock_priority priority;
	int64_t asked;               /* lease in the request, 0 if none */
	int64_t ttl;                 /* for a new grant */
	int64_t timeout;             /* of a wait, or ATLOCK_AUTO */
	struct atlock_caller holder; /* the future holder of the lock */
	/* Set by each run. */
	uint64_t ticket;
	struct atlock_grant grant;
};

/*
 * queue.c: gives the operation's caller a ticket, in its transaction: ACQUIRE_QUEUED, ACQUIRE_WAITS or a negative errno. `record`
 * is the lock's: another holder has it, or it rests after an expiry. If the wait closes a circle, this caller may be the victim:
 * see op->refusal.
 */
int queue_join(struct op *op, struct slice lock, const struct record_lock *record, struct acquire *acquire);

#endif
