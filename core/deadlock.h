/*
 * The wait-for graph: a holder points to whoever holds what it waits for. Nodes are holders, not requests, and the graph
 * is read from the store, so it needs no upkeep. Private to core/; runs inside an operation's transaction.
 */
#ifndef CORE_DEADLOCK_H
#define CORE_DEADLOCK_H

#include "op.h"

/*
 * To be called when `owner` + `who` has come to hold `lock`: resolves every cycle that goes through it, as the option
 * deadlock_policy says. A victim's tickets on the lock it waited for are gone afterwards, and their waiters told. Costs two
 * look-ups unless the holder both holds and waits.
 */
int deadlock_check(struct op *op, struct slice lock, struct slice owner, struct slice who);

/* The same when it has begun to wait for `lock`, whose record is given. Costs one look-up unless the holder of that waits, too. */
int deadlock_check_wait(struct op *op, struct slice lock, const struct record_lock *record, struct slice owner,
			struct slice who);

/*
 * To be called when `lock` was handed to `owner` + `who` by a call that can be refused: -EDEADLK if that holder is in a
 * cycle now, so that nobody else's wait pays for it. Costs as much as deadlock_check().
 */
int deadlock_refuse(struct op *op, struct slice lock, struct slice owner, struct slice who);

#endif
