/*
 * Calls that are blocked in a queue: a number for each, and how to answer it. Its ticket in the store carries the number,
 * which is given out before the ticket is written, so that an answer can never come too early. Private to core/.
 */
#ifndef CORE_WAITS_H
#define CORE_WAITS_H

#include "atlock.h"
#include "store.h"

struct behind;
struct metrics;
struct notice;
struct op;
struct waits;
struct ticket;

/* What becomes of each call is counted in `metrics`. */
int waits_new(struct waits **out, struct metrics *metrics);
void waits_free(struct waits *waits);

/* Enters a call, with what it takes to find its ticket again: its number, or 0 without memory. */
uint64_t waits_add(struct waits *waits, const struct atlock_request *req, atlock_done_fn *done, void *arg);

/* Whose call it is: the lock, and `owner` and `who` of `caller` (nothing else of it). 0, or 1 if it has been answered. */
int waits_find(struct waits *waits, uint64_t number, struct atlock_name *lock, struct atlock_caller *caller);

/*
 * Takes it out without an answer: 0, or 1 if it has been or is being answered. A call that never came to wait is removed, one
 * that gave up is cancelled.
 */
int waits_remove(struct waits *waits, uint64_t number);
int waits_cancel(struct waits *waits, uint64_t number);

/* Who stands behind a call beside its waiter, until it ends: 0, 1 if it has ended already, -ENOMEM. Once for a call. */
int waits_stand(struct waits *waits, uint64_t number, const struct atlock_caller *holders, size_t n);
struct behind *waits_behind(struct waits *waits);

/* The ticket of a call and the lock it waits for, which point into the store: 0, or 1 if it has been answered. (ticket.c) */
int waits_ticket(struct op *op, uint64_t number, struct slice *lock, struct ticket *ticket);

/*
 * Takes the call's ticket out of its queue: 0, or 1 if it has been or is being answered, or a negative errno. (ticket.c) The call
 * itself stays: finish or cancel it then.
 */
int waits_unqueue(struct atlock *al, uint64_t number);

/* A call whose caller has gone and whose ticket could not be taken out: that is tried again, and it is answered then. */
void waits_leave(struct atlock *al, uint64_t number);

/* One of those, each in its turn: 0, or 1 if there is none. How many there are. */
int waits_next_leaving(struct waits *waits, uint64_t *number);
size_t waits_leaving(struct waits *waits);

/* Answers a call, unless it is gone, and releases what it does not take. Runs its callback with no lock held. */
void waits_finish(struct atlock *al, const struct notice *notice);

/* Answers all of them with `err`. */
void waits_finish_all(struct atlock *al, int err, enum atlock_code code);

#endif
