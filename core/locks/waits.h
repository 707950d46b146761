/*
 * Calls that are blocked in a queue: a number for each, and its callback. The call's ticket in the store carries the number,
 * which is given out before the ticket is written, so that an answer can never come too early. Private to core/.
 */
#ifndef CORE_WAITS_H
#define CORE_WAITS_H

#include "atlock.h"
#include "store.h"

struct call_holders;
struct metrics;
struct notice;
struct op;
struct waits;
struct ticket;

/* Counts the outcome of each call in `metrics`. */
int waits_new(struct waits **out, struct metrics *metrics);
void waits_free(struct waits *waits);

/* Enters a call, with what is needed to find its ticket again: its number, or 0 without memory. */
uint64_t waits_add(struct waits *waits, const struct atlock_request *req, atlock_done_fn *done, void *arg);

/*
 * In a shared store: the call's ticket is written, so that it can be gone. True if another host changed the lock meanwhile: then look after
 * the call (hosts.h).
 */
bool waits_queued(struct waits *waits, uint64_t number);

/*
 * The calls whose ticket is written and that wait for this lock, any lock if it is empty: how many, or -ENOMEM. Those whose ticket is not
 * written yet are told by waits_queued(). The caller frees the list.
 */
int waits_about(struct waits *waits, struct slice lock, uint64_t **out);

/* The call's lock, and `owner` and `who` of its caller (no other field). 0, or 1 if it has been answered. */
int waits_find(struct waits *waits, uint64_t number, struct atlock_name *lock, struct atlock_caller *caller);

/*
 * Removes a call without an answer: 0, or 1 if it has been or is being answered. waits_remove() is for a call that never began to
 * wait, waits_cancel() for one that gave up.
 */
int waits_remove(struct waits *waits, uint64_t number);
int waits_cancel(struct waits *waits, uint64_t number);

/*
 * Enters the holders that stand behind a call beside its waiter, until it ends: 0, 1 if it has ended already, -ENOMEM. At most
 * once for each call.
 */
int waits_stand(struct waits *waits, uint64_t number, const struct atlock_caller *holders, size_t n);
struct call_holders *waits_holders(struct waits *waits);

/* The call's ticket and the lock it waits for, which point into the store: 0, or 1 if it has been answered. (ticket.c) */
int waits_ticket(struct op *op, uint64_t number, struct slice *lock, struct ticket *ticket);

/*
 * Removes the call's ticket from its queue: 0, or 1 if it has been or is being answered, or a negative errno. (ticket.c) The call
 * itself stays: finish or cancel it then. Of a call in doubt, what was granted to it is given back as well, and it is never 1.
 */
int waits_unqueue(struct atlock *al, uint64_t number);

/*
 * For a call whose caller has gone and whose ticket could not be removed: the removal is retried, and then the call is answered.
 */
void waits_leave(struct atlock *al, uint64_t number);

/*
 * For a call of a shared store that was answered with an error because the answer of the store was lost: its ticket may have been written. That
 * is removed, or what was granted to it given back, when the store answers again. The callback is not called any more: 0, or 1 if it has been.
 */
int waits_doubt(struct atlock *al, uint64_t number);
bool waits_is_doubtful(struct waits *waits, uint64_t number);

/* One of those calls, in rotation: 0, or 1 if there is none. And how many there are. */
int waits_next_leaving(struct waits *waits, uint64_t *number);
size_t waits_leaving(struct waits *waits);

/* Answers a call, unless it is gone, and releases a lock that the caller does not take. Runs the callback with no mutex held. */
void waits_finish(struct atlock *al, const struct notice *notice);

/* Answers all calls with `err`. */
void waits_finish_all(struct atlock *al, int err, enum atlock_code code);

#endif
