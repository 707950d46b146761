/*
 * The files of the event log: which events are lines of which day's file, and at which offset. An event is in the file
 * of its day by the wall clock. A day is one run of events, a segment, unless the clock was set back over midnight:
 * then the repeated day continues at the end of its file. Private to core/.
 */
#ifndef CORE_EVENT_DAY_H
#define CORE_EVENT_DAY_H

#include "event_line.h"
#include "op.h"

/* Events `first` to `last` are the bytes from `offset` to `end` of the file of `day`. */
struct segment {
	uint32_t day;
	uint64_t first;
	uint64_t last;
	uint64_t offset;
	uint64_t end;
};

/* Moves the tail to the end of this day's file, before an event of this time is appended. */
int event_day_begin(struct op *op, int64_t wall);

/* The first segment from `from` on with the prefix: 0 or 1. Moves `from` past it. The tail must be loaded. */
int event_segment_next(struct op *op, struct record_key *from, struct slice prefix, struct segment *out);

/* The same of a chain with this end. */
int event_chain_segment(struct op *op, const struct record_tail *tail, struct record_key *from, struct slice prefix,
			struct segment *out);

/* Where the log begins: see struct record_anchor. */
struct anchor {
	uint8_t why;  /* enum record_anchor_why */
	bool guessed; /* derived: an older version wrote no anchor; `wall` and `by` are unknown */
	uint64_t seq;
	int64_t wall;
	struct slice by; /* points into the transaction's memory */
	unsigned char hash[EVENT_HASH];
};

/*
 * After which event the log begins: 0, or 1 if it begins with the first event or the one before it is unknown. An older
 * version dropped whole days without writing an anchor: then it is derived from the first event's `prev`.
 */
int event_anchor(struct op *op, struct anchor *out);

/*
 * All segments in the order of their events, which differs from the order of days if the clock was set; free with
 * free().
 */
int event_segments(struct op *op, struct segment **out, size_t *count);

#endif
