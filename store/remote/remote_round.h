/*
 * One round of a batch: the functions that have no result yet run on one state of the mirror, and become parts of a commit. By the leader.
 */
#ifndef STORE_REMOTE_ROUND_H
#define STORE_REMOTE_ROUND_H

#include "remote_engine.h"

/* What became of a job in this round. */
enum slot_state {
	SLOT_OPEN,   /* to be run in the next round */
	SLOT_ANSWER, /* ran without writes; its result may be out of date */
	SLOT_PART,   /* part of the commit */
	SLOT_DONE,
};

/* A job of the batch. */
struct slot {
	struct store_job *job;
	enum slot_state state;
	uint64_t fence; /* an answer computed on this revision, or a later one, is final; 0: not known yet */
	size_t part;
	unsigned int conflicts;
};

struct round {
	struct engine *engine;
	struct slot *slots;
	size_t count;
	struct remote_at base;
	struct store_txn *mirror;

	struct remote_part parts[REMOTE_PARTS];
	size_t part_count;
	size_t keys; /* of all parts, compared or written */
	size_t bytes;

	struct writes over; /* what the parts wrote, over the mirror */
	size_t over_cap;
	uint16_t *owners; /* which part each of these is from */
};

/* Runs the open slots until the commit is full. 0 or a negative errno. */
int round_run(struct round *round);

void round_free(struct round *round);

#endif
