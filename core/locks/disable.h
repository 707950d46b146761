/*
 * The option disable_apply: the manager itself holds global/apply without an end, as root@disable_apply. No caller can be that
 * holder, and no caller, not even an administrator, can release or change what it holds. Private to core/.
 */
#ifndef CORE_DISABLE_H
#define CORE_DISABLE_H

#include "op.h"

/* Takes the lock from its holder, or releases it to the first waiter. Does nothing if the lock is already as `on` says. */
int disable_apply_set(struct op *op, bool on);

/* Applies the option when a store is opened. */
int disable_apply_open(struct atlock *al);

#endif
