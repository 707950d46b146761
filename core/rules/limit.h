/*
 * Limits of one user. They do not apply to administrators, the manager itself, or any call that releases something. Each refusal
 * names the limit, its value and the option. Private to core/.
 */
#ifndef CORE_LIMIT_H
#define CORE_LIMIT_H

#include "op.h"

/* -EDQUOT if the owner has max_locks_per_user already. Its tickets count, because they will be granted without another check. */
int limit_locks(struct op *op, struct slice owner);

/*
 * -EDQUOT if the owner has an eighth of max_locks_per_user already: so much other users may give. The rest is for locks that
 * the owner takes.
 */
int limit_gifts(struct op *op, struct slice owner);

/* -EDQUOT if the caller has max_waiters_per_user tickets already, or if limit_locks() refuses. */
int limit_waits(struct op *op);

/* -EDQUOT if the caller already has queue_share of the queue of `lock`, which has `waiters` tickets. */
int limit_queue(struct op *op, struct slice lock, uint64_t waiters);

/* -EDQUOT if custom/ has max_dirs directories, or the caller his dirs_share of them. */
int limit_dirs(struct op *op);

/* Counts a call that changes something; -EAGAIN if it exceeds rate_limit, and then it is not counted. */
int limit_rate(struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why);

#endif
