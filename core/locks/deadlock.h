/*
 * Circles in the wait-for graph (waitfor.h), and which wait is cancelled. Each search inside a change ends after WAITFOR_EDGES edges;
 * the periodic pass, atlock_run_deadlock(), finds what is longer. Private to core/; runs inside an operation's
 * transaction.
 */
#ifndef CORE_DEADLOCK_H
#define CORE_DEADLOCK_H

#include "table.h"
#include "waitfor.h"

/*
 * Call it when a holder has got `lock`, whose new record is given: resolves every circle through it, as the option
 * deadlock_policy says. A victim's tickets on the lock it waited for are removed, and their waiters told. Costs two look-ups
 * unless the holder both holds and waits.
 */
int deadlock_check(struct op *op, struct slice lock, const struct record_holder *holder);

/*
 * The same when `waiter` has begun to wait for `lock`, whose record is given, and the `n` holders in `behind` stand behind its
 * call. Costs one look-up unless the holder of `lock` also waits, and `waiter` or one of `behind` holds a lock. 1 if this wait
 * itself was cancelled: the circle is in op->circle then.
 */
int deadlock_check_wait(struct op *op, struct slice lock, const struct record_grant *held, const struct actor *waiter,
			const struct actor *behind, size_t n);

/* Whether deadlock_check_wait() would find a circle: 1 or 0. Writes nothing. */
int deadlock_look(struct op *op, struct slice lock, const struct record_grant *held, const struct actor *waiter,
		  const struct actor *behind, size_t n);

/*
 * Call it when a call that can be refused has handed `lock` to the holder of `record`: -EDEADLK if that holder is in a circle
 * now, so that no other wait is cancelled for it. Costs as much as deadlock_check().
 */
int deadlock_refuse(struct op *op, struct slice lock, const struct record_holder *holder);

/*
 * Cancels the wait of the victim of a circle that was found, from step `first` to the top: 1, or 2 if it is the wait of the very
 * first step; 0 if it had ended already.
 */
int deadlock_resolve(struct waitfor *graph, size_t first);

#endif
