/*
 * Lease time: what every instant in the store is measured in. It never steps while the manager lives, and over a restart
 * it goes on by as much as the wall clock did, corrected by the steps that were seen. A shared engine's clock is lease
 * time as it is. Private to core/.
 */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "store.h"

struct clock {
	struct store *store;
	int64_t base;           /* lease time when the manager opened */
	int64_t steady;         /* steady time then */
	_Atomic int64_t offset; /* wall time minus lease time, as shown */
};

/* `last` and `offset` are lease time and (wall - lease) time of the last change in the store; both 0 if it is new. */
void clock_start(struct clock *clock, struct store *store, int64_t last, int64_t offset);

int64_t clock_now(const struct clock *clock);

/* The same instant on both clocks. */
void clock_read(const struct clock *clock, int64_t *now, int64_t *wall);

/*
 * Wall time minus lease time, for showing instants to people. It only changes when the wall clock was set or has drifted
 * noticeably: else the same instant would read differently from one look to the next.
 */
int64_t clock_offset(struct clock *clock);

/* The same for one who has read the clock. */
int64_t clock_shown(struct clock *clock, int64_t now, int64_t wall);

/* Nanoseconds since any fixed point: real time, whatever clock tests give the manager. */
int64_t steady_now(void);

#endif
