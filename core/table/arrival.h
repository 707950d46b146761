/*
 * What a store that several hosts write to must know of the records (struct store_share). Private to core/.
 *
 * Each host has a mirror of the store, and in it a form of its own of what all share: instants are by its own clock, and the indexes of locks
 * and tickets, which follow from their records, are kept by each host for itself.
 */
#ifndef CORE_ARRIVAL_H
#define CORE_ARRIVAL_H

#include "op.h"

/* For store_share. */
bool arrival_is_local(struct slice key);
int arrival_arrive(void *arg, struct store_arrival *arrival, struct slice *value);
int arrival_leave(void *arg, struct slice key, struct slice *value, unsigned char *buf);

/*
 * For moving records between stores, as arrival_leave(). The first is for a realm: what is bound to a process or session is of a life that is
 * over when the first host mounts it. The second is for a store of one host whose lease time is `now`: leases run from then on.
 */
int arrival_unbind(struct slice key, struct slice *value, unsigned char *buf);
int arrival_settle(struct slice key, struct slice *value, int64_t now, unsigned char *buf);

/* How many locks are held, and how many tickets wait, in the store as a whole. */
int arrival_counts(struct op *op, uint64_t *held, uint64_t *waiting);

#endif
