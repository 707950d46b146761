/*
 * Locks and tickets in the store, each together with its indexes and counts: whoever changes a record goes through here,
 * so none of them can come apart. Private to core/; all of it runs inside an operation's transaction.
 */
#ifndef CORE_TABLE_H
#define CORE_TABLE_H

#include "op.h"

/* A ticket with its number, as read from the store. */
struct ticket {
	uint64_t number;
	struct record_ticket record;
};

/* The lock's record, held or delayed, expired or not: 0 or 1 (none). */
int table_lock_get(struct op *op, struct slice lock, struct record_lock *out);

/* Writes `new`, moving the indexes from where `old` (NULL: there was none) has them. */
int table_lock_put(struct op *op, struct slice lock, const struct record_lock *old, const struct record_lock *new);

/* Removes the record, its indexes and the user's text. */
int table_lock_del(struct op *op, struct slice lock, const struct record_lock *old);

/* What a caller is told of a grant. */
void table_grant_fill(struct atlock_grant *out, const struct record_lock *record);

/* When something happens to the lock by itself: its lease, claim or delay ends. ATLOCK_NEVER if nothing does. */
int64_t table_lock_due(const struct record_lock *record);

/* Whether the record says that the lock is held at this instant: what is over is not, before expire_lock() has written that too. */
bool table_lock_is_held(const struct op *op, const struct record_lock *record);

/* Position in service order of a priority: 0 is served first. */
uint8_t table_rank(uint8_t priority);

int table_ticket_put(struct op *op, struct slice lock, const struct ticket *ticket);
int table_ticket_del(struct op *op, struct slice lock, const struct ticket *ticket);

/* First ticket of a lock after the place (rank, number) in service order: 0 or 1. Start with (0, 0). */
int table_ticket_next(struct op *op, struct slice lock, uint8_t rank, uint64_t number, struct ticket *out);

/*
 * First ticket of a lock: 0 or 1. Keeps in the queue's record where it was found. The keys of those served before, which an
 * engine may have to pass one at a time, are not looked at again.
 */
int table_ticket_first(struct op *op, struct slice lock, struct ticket *out);

/*
 * First wait of a holder with a number > `after`: 0 or 1. `lock` is what it waits for, `rank` where; both point into the
 * store.
 */
int table_wait_next(struct op *op, struct slice owner, struct slice who, uint64_t after, uint64_t *number,
		    uint8_t *rank, struct slice *lock);

/* First lock held by a holder with a token > `after`: 0 or 1. */
int table_held_next(struct op *op, struct slice owner, struct slice who, uint64_t after, uint64_t *token,
		    struct slice *lock);

/* Reads one ticket by its place: 0 or 1. */
int table_ticket_get(struct op *op, struct slice lock, uint8_t rank, uint64_t number, struct ticket *out);

/* Finds a ticket of a lock by its number whatever its priority: 0 or 1. */
int table_ticket_find(struct op *op, struct slice lock, uint64_t number, struct ticket *out);

/* How many wait for a lock, and the earliest deadline among them (or earlier). Zero and never if nobody does. */
int table_queue_get(struct op *op, struct slice lock, struct record_queue *out);
int table_queue_put(struct op *op, struct slice lock, const struct record_queue *queue);

bool slice_equal(struct slice a, struct slice b);

#endif
