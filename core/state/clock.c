#include "clock.h"

#include <time.h>

#define DRIFT_SHOWN INT64_C(10000000)
#define DRIFT_READINGS 3

void clock_start(struct clock *clock, struct store *store, int64_t last, int64_t offset)
{
	struct store_time time;

	store_now(store, &time);
	clock->store = store;
	clock->steady = time.steady;
	clock->base = time.wall - offset;
	/* A wall clock that was set back while no manager was running must not extend leases. */
	if (clock->base < last)
		clock->base = last;
	if (store_shared(store))
		clock->base = time.steady;
	atomic_store(&clock->offset, time.wall - clock->base);
}

int64_t clock_now(const struct clock *clock)
{
	int64_t now;
	int64_t wall;

	clock_read(clock, &now, &wall);
	return now;
}

void clock_read(const struct clock *clock, int64_t *now, int64_t *wall)
{
	struct store_time time;

	store_now(clock->store, &time);
	*now = clock->base + (time.steady - clock->steady);
	*wall = time.wall;
}

static bool is_drift(int64_t offset, int64_t shown)
{
	return offset - shown > DRIFT_SHOWN || offset - shown < -DRIFT_SHOWN;
}

/*
 * The thread may have been preempted between its readings of the two clocks, which looks like a drift. Only a clock
 * that was set differs in every reading.
 */
int64_t clock_shown(struct clock *clock, int64_t now, int64_t wall)
{
	int64_t shown = atomic_load_explicit(&clock->offset, memory_order_relaxed);

	for (unsigned int i = 1; i < DRIFT_READINGS && is_drift(wall - now, shown); i++)
		clock_read(clock, &now, &wall);
	if (!is_drift(wall - now, shown))
		return shown;
	atomic_store_explicit(&clock->offset, wall - now, memory_order_relaxed);
	return wall - now;
}

int64_t clock_offset(struct clock *clock)
{
	int64_t now;
	int64_t wall;

	clock_read(clock, &now, &wall);
	return clock_shown(clock, now, wall);
}

int64_t steady_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
