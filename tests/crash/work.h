/*
 * States that are known by their number: what a store has after so many commits, and nothing else.
 */
#ifndef CRASH_WORK_H
#define CRASH_WORK_H

#include "store.h"

/* Makes state `number` of the one before it. `durable`: on disk when it returns, whatever the store's `sync`. */
int work_commit(struct store *store, unsigned int number, bool durable);

/* The number of the store's state; a negative errno if it is none of them. */
int work_state(struct store *store);

#endif
