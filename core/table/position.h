/*
 * The number of waiters before a ticket. The store does not count it, so it takes a walk through the queue. A walk
 * remembers places with their positions, at most POSITION_SPOTS of a queue, and the next walk starts at the last one
 * before its ticket. So reading every ticket of a queue costs about one walk.
 *
 * A remembered place is valid until a ticket before it is added or removed. Operations note the first place that they
 * change in each queue; after the commit, before they are answered, all remembered places behind it are dropped. A
 * reader with an older snapshot of the store neither uses nor adds any. Private to core/.
 */
#ifndef CORE_POSITION_H
#define CORE_POSITION_H

#include <stdint.h>

#include "store.h"

#define POSITION_SPOTS 512
#define POSITION_QUEUES 8 /* remembered at a time; the hash of the name selects the slot */

struct op;
struct positions;
struct ticket;

/* The first place that an operation changed in a queue. */
struct position_change {
	uint8_t rank;
	uint64_t number;
};

struct position_changes {
	unsigned int noted; /* bit i: `first[i]` is set */
	struct position_change first[POSITION_QUEUES];
};

int positions_new(struct positions **out);
void positions_free(struct positions *positions);

/*
 * The position of a ticket that was read in this transaction, 1 for the next to be served: 0, or 1 if its deadline has
 * passed.
 */
int position_find(struct op *op, struct slice lock, const struct ticket *ticket, uint64_t *out);

/* Notes that a ticket was added or removed at this place; applies the notes after the commit. */
void position_note(struct op *op, struct slice lock, uint8_t rank, uint64_t number);
void position_committed(struct op *op);

#endif
