/*
 * Locks and tickets in the store, with their indexes and counts: all changes of these records go through here, so that
 * record, indexes and counts stay consistent. Private to core/; runs inside an operation's transaction.
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

/* Writes `new`, and moves the indexes from their entries for `old` (NULL: there was none). */
int table_lock_put(struct op *op, struct slice lock, const struct record_lock *old, const struct record_lock *new);

/* Removes the record, its indexes and the user's text. */
int table_lock_del(struct op *op, struct slice lock, const struct record_lock *old);

/* Fills the part of a grant that callers see. */
void table_grant_fill(struct atlock_grant *out, const struct record_grant *grant);

/*
 * When the lease, claim or delay of the lock ends by itself, ATLOCK_NEVER if none does; and from when on others may take the lock. In a store
 * that several hosts write to this is later, however their clocks go: docs/REMOTE.md has the argument.
 */
int64_t table_grant_due(const struct record_grant *grant);
int64_t table_grant_free_at(const struct record_grant *grant);

/* Whether the lock is held now: not if others may take it, even if expire_lock() has not written that yet. */
bool table_grant_is_held(const struct op *op, const struct record_grant *grant);

/* Whether its holder may rely on it. */
bool table_grant_is_sure(const struct op *op, const struct record_grant *grant);

/* Whether that is not known here: this host has not seen when its lease began. Its holder can begin another one. */
bool table_grant_is_unsure(const struct op *op, const struct record_grant *grant);

/* Whether the time of a wait is over, and from when on any host may end it. */
bool table_ticket_is_over(const struct op *op, const struct record_ticket *ticket);
int64_t table_ticket_over_at(const struct record_ticket *ticket);

/*
 * The entry of a grant in TABLE_HELD, TABLE_ID or TABLE_DUE, and of a ticket in TABLE_WAITS or TABLE_DUE: the key; false
 * if it has none there. The value is the lock, or the ticket's place. fsck compares the indexes with these.
 */
bool table_grant_index(const struct record_grant *grant, enum record_table table, struct record_key *out);
bool table_ticket_index(const struct ticket *ticket, enum record_table table, struct record_key *out);

/* Rank and lock, which is where a ticket is found. */
struct slice table_ticket_place(unsigned char buf[1 + ATLOCK_KEY_MAX], struct slice lock, const struct ticket *ticket);

/*
 * Whether a holder is a session, process or open file, which ends with its host; and whether two of the same name are so on different hosts, or
 * in different lives of one.
 */
bool table_holder_is_bound(const struct record_holder *holder);
bool table_holder_is_elsewhere(const struct op *op, const struct record_holder *holder, uint32_t boot);

/* Who the caller is as a holder. */
struct record_holder table_holder(const struct op *op, const struct atlock_caller *caller);

/* Position in service order of a priority: 0 is served first. */
uint8_t table_rank(uint8_t priority);

int table_ticket_put(struct op *op, struct slice lock, const struct ticket *new);
int table_ticket_del(struct op *op, struct slice lock, const struct ticket *ticket);

/* The first ticket of a lock after (rank, number) in service order: 0 or 1. Start with (0, 0). */
int table_ticket_next(struct op *op, struct slice lock, uint8_t rank, uint64_t number, struct ticket *out);

/*
 * The first ticket of a lock: 0 or 1. Stores its place in the queue's record, so that the keys of served tickets, which
 * an engine may have to skip one by one, are not visited again.
 */
int table_ticket_first(struct op *op, struct slice lock, struct ticket *out);

/*
 * The first wait of a holder with a number > `after`: 0 or 1. `lock` is the lock waited for, `rank` the rank of the
 * ticket; `lock` points into the store.
 */
int table_wait_next(struct op *op, struct slice owner, struct slice who, uint64_t after, uint64_t *number,
		    uint8_t *rank, struct slice *lock);

/* The first lock held by a holder with a token > `after`: 0 or 1. */
int table_held_next(struct op *op, struct slice owner, struct slice who, uint64_t after, uint64_t *token,
		    struct slice *lock);

/* Reads one ticket by its place: 0 or 1. */
int table_ticket_get(struct op *op, struct slice lock, uint8_t rank, uint64_t number, struct ticket *out);

/* Finds a ticket of a lock by its number, with any priority: 0 or 1. */
int table_ticket_find(struct op *op, struct slice lock, uint64_t number, struct ticket *out);

/* The number of waiters for a lock, and a lower bound of their deadlines. 0 and ATLOCK_NEVER if there are none. */
int table_queue_get(struct op *op, struct slice lock, struct record_queue *out);
int table_queue_put(struct op *op, struct slice lock, const struct record_queue *queue);

#endif
