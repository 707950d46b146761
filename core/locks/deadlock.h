/*
 * Circles in the wait-for graph (waitfor.h), and who has to give way. Private to core/; runs inside an operation's transaction.
 */
#ifndef CORE_DEADLOCK_H
#define CORE_DEADLOCK_H

#include "table.h"
#include "waitfor.h"

/*
 * To be called when a holder has come to hold `lock`, whose new record is given: resolves every circle that goes through it, as the
 * option deadlock_policy says. A victim's tickets on the lock it waited for are gone afterwards, and their waiters told. Costs two
 * look-ups unless the holder both holds and waits.
 */
int deadlock_check(struct op *op, struct slice lock, const struct record_lock *record);

/*
 * The same when `waiter` has begun to wait for `lock`, whose record is given, and `behind`, `n` of them, stand behind its call. Costs
 * one look-up unless the holder of that waits, too, and holds of those who are named. 1 if the wait itself had to go: the circle is
 * in op->circle then.
 */
int deadlock_check_wait(struct op *op, struct slice lock, const struct record_lock *record, const struct actor *waiter,
			const struct actor *behind, size_t n);

/* Whether that would find a circle: 1 or 0. Writes nothing. */
int deadlock_look(struct op *op, struct slice lock, const struct record_lock *record, const struct actor *waiter,
		  const struct actor *behind, size_t n);

/*
 * To be called when `lock` was handed to the holder of `record` by a call that can be refused: -EDEADLK if that holder is in a
 * circle now, so that no other wait pays for it. Costs as much as deadlock_check().
 */
int deadlock_refuse(struct op *op, struct slice lock, const struct record_lock *record);

#endif
