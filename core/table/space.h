/*
 * How much space is left in the store, and how much of it events may use. Private to core/; runs inside an operation's
 * transaction.
 */
#ifndef CORE_SPACE_H
#define CORE_SPACE_H

#include "op.h"

/* -EDQUOT if the store has no space for more, events have used their share of it, or the caller's records that of one user. */
int space_check(struct op *op);

/* -EDQUOT if there is no space even for changes that neither add nor end anything. The tail must be loaded. */
int space_check_scarce(struct op *op);
bool space_is_scarce(struct op *op);

/*
 * Whether the caller's events of today take more than what is left of the events' share, once half of that is used.
 * Such a user may add nothing more, so that others can. The tail must be loaded.
 */
bool space_user_is_over(struct op *op);

/* Bytes of all events and of those still to come (owed.h); charges the caller with the growth by this operation. */
uint64_t space_events_all(const struct record_tail *tail);
void space_charge(struct op *op);

/* Approximate bytes of all events in the store; whether they exceed their share of it. */
uint64_t space_events_used(const struct record_tail *tail);
bool space_share_is_used(const struct store_space *space, const struct record_tail *tail);

/* Whether events have so much of the bytes used that an archive makes room. */
bool space_archive_helps(uint64_t events, uint64_t used);

#endif
