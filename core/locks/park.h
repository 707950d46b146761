/*
 * Calls that are blocked in a queue: a number for each, and how to answer it. Its ticket in the store carries the number,
 * which is given out before the ticket is written, so that an answer can never come too early. Private to core/.
 */
#ifndef CORE_PARK_H
#define CORE_PARK_H

#include "atlock.h"
#include "store.h"

struct behind;
struct metrics;
struct notice;
struct op;
struct park;
struct ticket;

/* What becomes of each call is counted in `metrics`. */
int park_new(struct park **out, struct metrics *metrics);
void park_free(struct park *park);

/* Enters a call, with what it takes to find its ticket again: its number, or 0 without memory. */
uint64_t park_add(struct park *park, const struct atlock_request *req, atlock_done_fn *done, void *arg);

/* Whose call it is: the lock, and `owner` and `who` of `caller` (nothing else of it). 0, or 1 if it has been answered. */
int park_find(struct park *park, uint64_t number, struct atlock_name *lock, struct atlock_caller *caller);

/*
 * Takes it out without an answer: 0, or 1 if it has been or is being answered. A call that never came to wait is removed, one
 * that gave up is cancelled.
 */
int park_remove(struct park *park, uint64_t number);
int park_cancel(struct park *park, uint64_t number);

/* Who stands behind a call beside its waiter, until it ends: 0, 1 if it has ended already, -ENOMEM. Once for a call. */
int park_stand(struct park *park, uint64_t number, const struct atlock_caller *holders, size_t n);
struct behind *park_behind(struct park *park);

/* The ticket of a call and the lock it waits for, which point into the store: 0, or 1 if it has been answered. (ticket.c) */
int park_ticket(struct op *op, uint64_t number, struct slice *lock, struct ticket *ticket);

/*
 * Takes the call's ticket out of its queue: 0, or 1 if it has been or is being answered, or a negative errno. (ticket.c) The call
 * itself stays: finish or cancel it then.
 */
int park_unqueue(struct atlock *al, uint64_t number);

/* A call whose caller has gone and whose ticket could not be taken out: that is tried again, and it is answered then. */
void park_leave(struct atlock *al, uint64_t number);

/* One of those, each in its turn: 0, or 1 if there is none. How many there are. */
int park_next_leaving(struct park *park, uint64_t *number);
size_t park_leaving(struct park *park);

/* Answers a call, unless it is gone, and releases what it does not take. Runs its callback with no lock held. */
void park_finish(struct atlock *al, const struct notice *notice);

/* Answers all of them with `err`. */
void park_finish_all(struct atlock *al, int err, enum atlock_code code);

#endif
