/*
 * Granting locks: the one place where a lock gets a new holder that is not asking at that moment. Private to core/; runs inside
 * an operation's transaction.
 */
#ifndef CORE_GRANT_H
#define CORE_GRANT_H

#include "table.h"

/*
 * Ends what is over at this instant on one lock: its lease, its claim time, its delay, tickets past their deadline; and hands the
 * lock over. Afterwards `record` is the lock's state (returns 1 if it is free; then its queue is empty).
 */
int expire_lock(struct op *op, struct slice lock, struct record_lock *record);

/* The same, and the state of the queue of a lock that is held, for lock_release(). */
int expire_lock_queue(struct op *op, struct slice lock, struct record_lock *record, struct record_queue *queue);

/* Grants a free lock to the first of its queue; erases `old` (NULL: there is no record). `record` as in expire_lock(). */
int grant_next(struct op *op, struct slice lock, const struct record_lock *old, const struct record_queue *queue,
	       struct record_lock *record);

/* Writes a new grant: sets token, id and times; the rest is in `record`. */
int grant_write(struct op *op, struct slice lock, const struct record_lock *old, struct record_lock *record);

/*
 * Removes every ticket of a holder on a lock; each waiter is told `err`. Returns how many, and whether a call was blocked on one.
 */
int grant_drop_tickets(struct op *op, struct slice lock, const struct record_holder *holder, int err,
		       enum atlock_code code, const struct record_grant *granted, bool *blocked);

/*
 * For a lock whose holder is being changed by a transfer, not written yet: if the new holder waits for it, the lock becomes what
 * that ticket asked for, as with any grant, under the old token. Tells the waiter the version that the caller writes next. 0, or 1
 * if the holder has no ticket.
 */
int grant_to_ticket_of(struct op *op, struct slice lock, struct record_lock *record);

/* Removes a ticket that is past its deadline and tells its waiter. */
int grant_time_out(struct op *op, struct slice lock, const struct ticket *ticket);

/* Remembers how long a lock was held. */
int grant_note_hold(struct op *op, struct slice lock, const struct record_grant *grant, bool waited_for);

/* The mean of past hold times of a lock: 0, or 1 if there is none. */
int grant_mean_hold(struct op *op, struct slice lock, int64_t *mean);

/* Claims the grant if it is pending, and begins its lease anew. */
void grant_begin_lease(const struct op *op, struct record_grant *grant);

#endif
