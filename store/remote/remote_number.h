/*
 * Numbers for grants and tickets, without a counter that every host writes. There are 32,768 counters, and a lock has the one that its name
 * hashes to. A number is the counter's next value, then 16 bits that name the counter: it is unique in the realm, rises for each lock,
 * and stays below 2^53. Reading and writing the counter is part of the update, so a commit that others overtook runs again with a higher one.
 *
 * No counter is below the floor, which is raised with each epoch: a number that was given out and lost does not come again.
 */
#ifndef STORE_REMOTE_NUMBER_H
#define STORE_REMOTE_NUMBER_H

#include "txn.h"

#include <stdint.h>

/* So many numbers of one counter may be lost with an epoch, and be given out by a host that is cut off, before one could repeat. */
#define NUMBER_LEAP (UINT64_C(1) << 24)

/* The next number for the lock with this name: 0, -EOVERFLOW or a negative errno. */
int number_next(struct store_txn *txn, struct slice name, uint64_t *out);

/* The floor's key, and its value for a new epoch, from what the transaction of a mirror shows. */
struct slice number_floor_key(void);
int number_floor_next(struct store_txn *mirror, uint64_t *out);

#endif
