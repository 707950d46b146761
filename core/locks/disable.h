/*
 * The option disable_apply: global/apply is held for good, by the manager itself, as root@disable_apply. Nobody else can be
 * that holder, and nobody, not even an administrator, can release or change what it holds. Private to core/.
 */
#ifndef CORE_DISABLE_H
#define CORE_DISABLE_H

#include "op.h"

/* Takes the lock from whoever has it, or gives it back to whoever waits. Does nothing if it is as it should be. */
int disable_apply_set(struct op *op, bool on);

/* What opening a store with or without the option does. */
int disable_apply_open(struct atlock *al);

#endif
