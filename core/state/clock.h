/*
 * Lease time: the clock of every instant in the store. It never steps while the manager lives; over a restart it
 * advances as much as the wall clock did, corrected by the steps that the manager saw. In a store that several hosts write
 * to, lease time is each host's own, without conversion: see struct record_times. Private to core/.
 */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "store.h"

struct clock {
	struct store *store;
	int64_t base;           /* lease time when the manager opened */
	int64_t steady;         /* steady time when the manager opened */
	_Atomic int64_t offset; /* wall time minus lease time, as shown */
};

/*
 * `last` and `offset` are lease time and (wall - lease) time of the last change in the store; both 0 for a new store.
 */
void clock_start(struct clock *clock, struct store *store, int64_t last, int64_t offset);

int64_t clock_now(const struct clock *clock);

/* Reads lease time and wall time of the same instant. */
void clock_read(const struct clock *clock, int64_t *now, int64_t *wall);

/*
 * Wall time minus lease time, for showing instants to people. Changes only if the wall clock was set or has drifted
 * noticeably: otherwise the same instant would be printed differently each time.
 */
int64_t clock_offset(struct clock *clock);

/* The same for a caller that has just read the clock; reads it again if it seems to have drifted. */
int64_t clock_shown(struct clock *clock, int64_t now, int64_t wall);

/* Nanoseconds since a fixed point: real time, even if tests replace the manager's clock. */
int64_t steady_now(void);

#endif
