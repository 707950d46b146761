/*
 * The events of all hosts as one file for each day: which event is at which offset. Private to core/.
 *
 * Events of other hosts arrive when they arrive, and lines that were read must not move. So the order is kept in memory: what is there
 * when a day is first asked for is ordered by time, and what comes later is added at the end. Within a chain events are always in their
 * order. An event takes 16 bytes. After a restart a day may be ordered otherwise.
 */
#ifndef CORE_EVENT_MERGE_H
#define CORE_EVENT_MERGE_H

#include "event_log.h"

struct merges;

int merges_new(struct merges **out);
void merges_free(struct merges *merges);

/*
 * Locked from before an operation's transaction begins until what merge_day() found is used: a reader whose transaction is older than
 * another's would not find events that the other has put in.
 */
void merges_lock(struct merges *merges);
void merges_unlock(struct merges *merges);

struct merge_line {
	uint64_t number; /* chain << 48 | sequence */
	uint64_t end;    /* offset of the byte behind its newline */
};

struct merge_day {
	const struct merge_line *lines;
	size_t count;
	int64_t changed; /* wall time of the newest event; 0: there is none */
};

/* The lines of a day, with all that are in the store by now. Valid until merges_unlock(). */
int merge_day(struct op *op, uint32_t day, struct merge_day *out);

static inline struct event_number merge_number(const struct merge_line *line)
{
	return (struct event_number){ (uint16_t)(line->number >> 48), line->number & ((UINT64_C(1) << 48) - 1) };
}

/* The first line that ends behind `offset`; `count` if there is none. */
size_t merge_at(const struct merge_day *day, uint64_t offset);

/* A line is not what the store has now: the engine has lost events. The day is put in order anew when it is next asked for. */
void merge_forget(struct op *op, uint32_t day);

#endif
