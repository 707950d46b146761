/*
 * How much one user may have and ask for. Administrators and the manager itself are not limited, and nothing that gives back
 * is. Each refusal names the limit, its value and the option. Private to core/.
 */
#ifndef CORE_LIMIT_H
#define CORE_LIMIT_H

#include "op.h"

/*
 * -EDQUOT if the owner has max_locks_per_user already. What he waits for counts, because it will be granted without asking
 * again.
 */
int limit_locks(struct op *op, struct slice owner);

/* -EDQUOT if the caller waits for max_waiters_per_user already; and what limit_locks() says. */
int limit_waits(struct op *op);

/* -EDQUOT if custom/ has max_dirs directories. */
int limit_dirs(struct op *op);

/* Counts a call that changes something; -EAGAIN if it is above rate_limit: then it does not count. */
int limit_rate(struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why);

#endif
