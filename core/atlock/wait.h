/*
 * Waiting for a lock: in a blocked call, or with a ticket that outlives the call; and the queues of all locks.
 *
 * Calling sequence
 *
 *	rc = atlock_wait(al, &req, done, arg, &wait, &grant, &why);
 *	if (rc == 1)				the request waits; no thread does
 *		... done() gets the grant or the error ...
 *	atlock_wait_cancel(al, wait);		if the caller gives up first
 *
 * or, without a call that lasts:
 *
 *	rc = atlock_enqueue(al, &req, &ticket, &grant, &why);
 *	... when the lock is granted, atlock_claim() (lock.h) within claim_timeout ...
 *	atlock_cancel(al, &req, ticket, &why);	to leave the queue
 *
 * A lock with waiters is never free: the transaction that ends a grant passes the lock on to the first ticket, by priority and
 * then by age. A wait ends with -ETIMEDOUT after its timeout, -EDEADLK as a deadlock's victim, -ECANCELED when the manager is
 * closed.
 *
 * A priority, lease, timeout and reason for a wait stand in the request. Refusals: -EDQUOT if the lock has max_queue waiters,
 * the user queue_share of them, or max_waiters_per_user; others as atlock_acquire().
 */
#ifndef ATLOCK_WAIT_H
#define ATLOCK_WAIT_H

#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/list.h"
#include "atlock/lock.h"
#include "atlock/name.h"

/* --- Waiting in a call --- */

/*
 * Called exactly once when a wait ends: with 0 and the grant, or a negative errno and why. Returns whether the caller took the
 * grant: if false, the manager releases the lock again. Runs on the thread whose call ended the wait or on one of the
 * manager's, after the commit, with no mutex of the manager held; it may call back in.
 */
typedef bool atlock_done_fn(void *arg, int err, const struct atlock_grant *grant, const struct atlock_why *why);

/*
 * Takes the lock or waits for it without occupying a thread. 0: taken, or already the caller's (then the request's lease and
 * text apply as in atlock_acquire()); `done` is not called. 1: waiting; `done` is called once, perhaps before this returns, and
 * `*wait` is the wait's number. Negative: refused, `done` is not called.
 */
int atlock_wait(struct atlock *al, const struct atlock_request *req, atlock_done_fn *done, void *arg, uint64_t *wait,
		struct atlock_grant *out, struct atlock_why *why);

/*
 * Ends a wait. 0: `done` will not be called. 1: `done` has been called or is being called. Negative: the store failed; the wait
 * goes on until the manager has written its end, and `done` will be called.
 */
int atlock_wait_cancel(struct atlock *al, uint64_t wait);

/*
 * Tells the deadlock search who is blocked in a wait: thread `tid` of this uid and gid, whose process has `n` open files that
 * are holders (atlock_who_flock()). Locks of that process, its session, those files and an `atlock run` that started it cannot
 * end before the call returns, so they count as waiting with it. A cycle that this closes is resolved at once, by ending this
 * wait or another. 0, or a negative errno if that failed: the wait goes on. Does nothing for a wait that has ended.
 */
int atlock_wait_behind(struct atlock *al, uint64_t wait, pid_t tid, uid_t uid, gid_t gid,
		       const struct atlock_caller *files, size_t n);

/* --- Tickets --- */

/*
 * Joins the queue and returns. 0: `*ticket` is the caller's place, which outlives the calling process. 1: its holder has a
 * ticket already. 2: the lock was free and is the caller's now (`grant`), or was the caller's before.
 */
int atlock_enqueue(struct atlock *al, const struct atlock_request *req, uint64_t *ticket, struct atlock_grant *grant,
		   struct atlock_why *why);

/* One ticket as one transaction saw it. It owns its strings: atlock_ticket_clear(). */
struct atlock_ticket {
	uint64_t ticket; /* number; a lower one is served first within a priority */
	enum atlock_priority priority;
	char *owner;
	char *who;
	char *host; /* machine that it was made on */
	uid_t uid;
	gid_t gid;
	pid_t pid;         /* of the process that made it; 0: unknown */
	bool parked;       /* a call is blocked on it; else it waits by itself */
	int64_t since;     /* instant */
	int64_t deadline;  /* instant at which it times out, or ATLOCK_NEVER */
	int64_t ttl;       /* lease that it asks for, ns */
	uint64_t position; /* 1 is next */
	int64_t expected;  /* estimated wait from past hold times, ns; -1: unknown */
};

void atlock_ticket_clear(struct atlock_ticket *ticket);

/* Reads a lock's ticket by number, or (ticket 0) the first one of holder owner + who. 0 or 1 (none). */
int atlock_ticket_get(struct atlock *al, const struct atlock_name *name, uint64_t ticket, const char *owner,
		      const char *who, struct atlock_ticket *out);

/* Reads the first ticket of this who and priority under any owner. 0 or 1. Costs a look-up for each owner that waits. */
int atlock_ticket_find(struct atlock *al, const struct atlock_name *name, enum atlock_priority priority,
		       const char *who, struct atlock_ticket *out);

/* Leaves the queue. 1: there is no such ticket. -EPERM, -EACCES: it is another holder's, and the request has no `force`. */
int atlock_cancel(struct atlock *al, const struct atlock_request *req, uint64_t ticket, struct atlock_why *why);

/* Moves a ticket to the end of the request's priority. Returns as atlock_cancel(). */
int atlock_reprioritise(struct atlock *al, const struct atlock_request *req, uint64_t ticket, struct atlock_why *why);

/* What `cat` prints of a ticket, and one JSON object without newline as in locks.jsonl. malloc'ed, or NULL. */
char *atlock_ticket_text(struct atlock *al, const struct atlock_name *name, const struct atlock_ticket *ticket,
			 size_t *len);
char *atlock_ticket_json(struct atlock *al, const struct atlock_name *name, const struct atlock_ticket *ticket,
			 size_t *len);

/* --- Queues: listings, see list.h --- */

/* A lock's tickets in the order of service. */
typedef int atlock_ticket_fn(void *arg, const struct atlock_ticket *ticket);
int atlock_queue_list(struct atlock *al, const struct atlock_name *name, struct atlock_place *place,
		      atlock_ticket_fn *fn, void *arg);

/* Every lock that has waiters, in key order. */
typedef int atlock_name_fn(void *arg, const struct atlock_name *name, uint64_t waiters);
int atlock_queues(struct atlock *al, struct atlock_place *place, atlock_name_fn *fn, void *arg);

/*
 * The components directly below a path ("" for all trees, "repos/acme"), or below a directory of custom/, that lead to locks
 * with waiters; once each. Costs what is below, not what waits elsewhere. Errors as atlock_children(), and -ENOENT.
 */
int atlock_queue_children(struct atlock *al, const char *dir, struct atlock_place *place, atlock_group_fn *fn,
			  void *arg);
int atlock_queue_dir_children(struct atlock *al, uint64_t dir, struct atlock_place *place, atlock_group_fn *fn,
			      void *arg);

#endif
