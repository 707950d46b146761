/*
 * What the event log still has to take: each grant and each wait ends with an event, and that must find room on a store that is
 * full, since events are never dropped to make room. So a bound of their bytes is counted along the event chain, and the store
 * keeps as much free (store_promise()). Private to core/; all of it runs inside an operation's transaction.
 */
#ifndef CORE_OWED_H
#define CORE_OWED_H

#include "op.h"

/* A lock goes from one record to another, NULL being none; a ticket came or went. The tail must be loaded. */
int owed_lock(struct op *op, struct slice lock, const struct record_lock *old, const struct record_lock *new);
int owed_ticket(struct op *op, struct slice lock, const struct record_ticket *ticket, bool added);

/* All of it anew, from the records: for a store that an older version wrote, and for a check. */
int owed_count(struct op *op, uint64_t *out);

#endif
