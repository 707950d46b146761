/* Commits that have numbers, so that a store tells by what it has after which of them it is. */
#ifndef UNIT_NUMBERED_H
#define UNIT_NUMBERED_H

#include "store.h"

/* The commit with that number, which comes after the one before; `len` bytes are to make it longer. As store_update(). */
int numbered_put(struct store *store, unsigned int number, size_t len);

/* The number of the newest, 0 if there was none; -EILSEQ if what is there is a mixture. And the same inside a view. */
int numbered_state(struct store *store);
int numbered_state_fn(struct store_txn *txn, void *arg);

#endif
