/*
 * The files of the event log: which events are lines of which day's file, and where. An event is in the file of the day that the
 * wall clock showed. A day is one run of events, a segment, unless the clock was set back over midnight: then the day that
 * comes again goes on where its file ends. Private to core/.
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

/* Makes sure, before an event of this time is appended, that the tail is at the end of its day's file. */
int event_day_begin(struct op *op, int64_t wall);

/* The first segment at or after `from` that has the prefix: 0 or 1. Moves `from` behind it. The tail must be loaded. */
int event_segment_next(struct op *op, struct record_key *from, struct slice prefix, struct segment *out);

/* Where the log begins: see struct record_anchor. */
struct anchor {
	uint8_t why;  /* enum record_anchor_why */
	bool guessed; /* by what an older version left, which wrote none down: `wall` and `by` are not known */
	uint64_t seq;
	int64_t wall;
	struct slice by; /* in the transaction's memory */
	unsigned char hash[EVENT_HASH];
};

/*
 * Behind which event the log begins: 0, or 1 if it begins with the first, or nothing says what was before it. A store in which an
 * older version dropped whole days has none written down: then it is what the first event says was before it.
 */
int event_anchor(struct op *op, struct anchor *out);

/* All of them in the order of their events, which differs from that of their days if the clock was set; free with free(). */
int event_segments(struct op *op, struct segment **out, size_t *count);

#endif
