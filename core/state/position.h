/*
 * How many wait before a ticket. Nothing in the store counts that, so it takes a walk through the queue; the places that a walk
 * passed are remembered with their positions, at most POSITION_SPOTS of a queue, and the next walk begins at the one before its
 * ticket. So a look at every ticket of a queue costs about one walk.
 *
 * What is remembered is true until a ticket before it comes or goes. Operations note the first place that they change in each
 * queue, and once they are committed, before they are answered, all that is remembered behind it is forgotten. A reader whose view
 * of the store is older than that neither uses nor adds anything. Private to core/.
 */
#ifndef CORE_POSITION_H
#define CORE_POSITION_H

#include <stdint.h>

#include "store.h"

#define POSITION_SPOTS 512
#define POSITION_QUEUES 8 /* that are remembered at a time, each in the place that its name gives it */

struct op;
struct positions;
struct ticket;

/* The first place that an operation changed in a queue. */
struct position_change {
	uint8_t rank;
	uint64_t number;
};

struct position_changes {
	unsigned int noted; /* bit i: there is one for the queue in place i */
	struct position_change first[POSITION_QUEUES];
};

int positions_new(struct positions **out);
void positions_free(struct positions *positions);

/* The position of a ticket that was read in this transaction, 1 for the next to be served: 0, or 1 if it is past its deadline. */
int position_find(struct op *op, struct slice lock, const struct ticket *ticket, uint64_t *out);

/* A ticket came to this place or went from it; and what the operation noted so is committed. */
void position_note(struct op *op, struct slice lock, uint8_t rank, uint64_t number);
void position_committed(struct op *op);

#endif
