/*
 * Space that the event log will still need: each grant and each wait ends with an event, which must fit into a full
 * store, since events are never dropped to free space. So an upper bound of their bytes is counted along the event
 * chain, and the store keeps as much free (store_promise()). Private to core/; runs inside an operation's transaction.
 */
#ifndef CORE_OWED_H
#define CORE_OWED_H

#include "op.h"

/*
 * Counts the change of a lock from `old` to `new`, NULL being none; or an added or removed ticket. The tail must be
 * loaded.
 */
int owed_lock(struct op *op, struct slice lock, const struct record_grant *old, const struct record_grant *new);
int owed_ticket(struct op *op, struct slice lock, const struct record_ticket *ticket, bool added);

/* Recounts everything from the records: for a store that an older version wrote, and for a check. */
int owed_count(struct op *op, uint64_t *out);

#endif
