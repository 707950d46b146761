#include <math.h>

#include "goals.h"

static double plain(const double *values, const enum value *of)
{
	return values[of[0]];
}

static double ratio(const double *values, const enum value *of)
{
	return values[of[0]] / values[of[1]];
}

/* The rate a / that of doing b and c one after the other. */
static double ratio_to_both(const double *values, const enum value *of)
{
	return values[of[0]] * (1 / values[of[1]] + 1 / values[of[2]]);
}

/* The part a of a + b, in percent. */
static double share(const double *values, const enum value *of)
{
	return 100 * values[of[0]] / (values[of[0]] + values[of[1]]);
}

static double mebibytes(const double *values, const enum value *of)
{
	return values[of[0]] / (1024 * 1024);
}

/* What a has more than b, for each held lock. */
static double for_each_held(const double *values, const enum value *of)
{
	return (values[of[0]] - values[of[1]]) / run.scale->held;
}

/* In round trips, after the time that a commit takes. */
static double trips_and_commit(const double *values, const enum value *of)
{
	return (values[of[0]] - 1e6 / values[of[2]] / 2) / values[of[1]];
}

#define LEAST(x)             \
	{                    \
		.least = (x) \
	}
#define MOST(x)             \
	{                   \
		.most = (x) \
	}
#define NO_GOAL            \
	{                  \
		.least = 0 \
	}

const struct figure figures[] = {
	{ "1", "cycle, 1 process, `sync=off` / floor", "x", LEAST(0.9), ratio, { CYCLE_OFF_1, CYCLE_FLOOR_1 } },
	{ "",
	  "cycle, 1 process, `sync=off` / floor with cache lifetimes",
	  "x",
	  NO_GOAL,
	  ratio,
	  { CYCLE_OFF_1, CYCLE_KEPT_1 } },
	{ "2", "cycle, 8 processes, `sync=off` / floor at 8", "x", LEAST(0.9), ratio, { CYCLE_OFF_8, CYCLE_FLOOR_8 } },
	{ "",
	  "cycle, 8 processes, `sync=off` / floor with cache lifetimes",
	  "x",
	  NO_GOAL,
	  ratio,
	  { CYCLE_OFF_8, CYCLE_KEPT_8 } },
	{ "3",
	  "cycle, 1 process, `sync=commit` / floor + two LMDB commits",
	  "x",
	  LEAST(0.85),
	  ratio_to_both,
	  { CYCLE_COMMIT_1, CYCLE_FLOOR_1, LMDB_PAIR } },
	{ "4", "cycle, `sync=commit`, 16 processes / 1", "x", LEAST(4), ratio, { CYCLE_COMMIT_16, CYCLE_COMMIT_1 } },
	{ "4", "cycle, 16 processes, `sync=commit` / off", "x", LEAST(0.5), ratio, { CYCLE_COMMIT_16, CYCLE_OFF_16 } },
	{ "5", "durable cycle / etcd, 1 client", "x", LEAST(2), ratio, { CYCLE_COMMIT_1, ETCD_1 } },
	{ "5", "durable cycle / etcd, 16 clients", "x", LEAST(2), ratio, { CYCLE_COMMIT_16, ETCD_16 } },
	{ "5", "durable cycle / Redis, 1 client", "x", LEAST(1), ratio, { CYCLE_COMMIT_1, REDIS_1 } },
	{ "5", "durable cycle / Redis, 16 clients", "x", LEAST(0.5), ratio, { CYCLE_COMMIT_16, REDIS_16 } },
	{ "", "the floor itself / Redis, 16 clients", "x", NO_GOAL, ratio, { CYCLE_FLOOR_16, REDIS_16 } },
	{ "6", "`touch f && rm f`, durable / etcdctl", "x", LEAST(3), ratio, { SHELL_COMMIT, SHELL_ETCD } },
	{ "6", "`touch f && rm f`, durable / redis-cli", "x", LEAST(1.2), ratio, { SHELL_COMMIT, SHELL_REDIS } },
	{ "6",
	  "`touch f && rm f`, durable / on ext4, not durable",
	  "x",
	  LEAST(0.7),
	  ratio,
	  { SHELL_COMMIT, SHELL_EXT4 } },
	{ "", "`touch f && rm f`, `sync=off` / on ext4", "x", NO_GOAL, ratio, { SHELL_OFF, SHELL_EXT4 } },
	{ "", "`touch f && rm f`, `sync=off` / on tmpfs", "x", NO_GOAL, ratio, { SHELL_OFF, SHELL_TMPFS } },
	{ "",
	  "`touch f && rm f`, durable / `flock -n f true` on ext4",
	  "x",
	  NO_GOAL,
	  ratio,
	  { SHELL_COMMIT, FLOCK_EXT4 } },
	{ "", "`flock -n f true`, durable / on ext4", "x", NO_GOAL, ratio, { FLOCK_COMMIT, FLOCK_EXT4 } },
	{ "", "`flock -n f true`, durable / `etcdctl lock f true`", "x", NO_GOAL, ratio, { FLOCK_COMMIT, FLOCK_ETCD } },
	{ "7", "hand-over, `sync=off`, p50 / floor round trip", "x", MOST(3), ratio, { HAND_OFF_P50, ROUND_TRIP } },
	{ "7", "hand-over, `sync=off`, p99 / floor round trip", "x", MOST(10), ratio, { HAND_OFF_P99, ROUND_TRIP } },
	{ "", "the floor's own round trip, p99 / p50", "x", NO_GOAL, ratio, { ROUND_TRIP_P99, ROUND_TRIP } },
	{ "",
	  "hand-over, durable, p50, less one bare commit / floor round trip",
	  "x",
	  NO_GOAL,
	  trips_and_commit,
	  { HAND_COMMIT_P50, ROUND_TRIP, LMDB_PAIR } },
	{ "8", "`cat` of a held lock / floor", "x", LEAST(0.9), ratio, { CAT_OFF, CAT_FLOOR } },
	{ "9", "`ls -l` of 10,000 locks, time / floor", "x", MOST(2), ratio, { LS_OFF, LS_FLOOR } },
	{ "", "`ls -l` of 10,000 locks, time / floor with cache lifetimes", "x", NO_GOAL, ratio, { LS_OFF, LS_KEPT } },
	{ "10", "cycle, 1,000,000 locks held / empty store", "x", LEAST(0.8), ratio, { HELD_CYCLE, EMPTY_CYCLE } },
	{ "11", "grant, 10,000 waiters, time / 1 waiter", "x", MOST(1.5), ratio, { GRANT_MANY, GRANT_ONE } },
	{ "12", "deadlock check, 10,000 waiters, share of acquire", "%", MOST(10), share, { JOIN_CHECK, JOIN } },
	{ "", "deadlock check, one chain of 10,000, share of acquire", "%", NO_GOAL, share, { JOIN_CHECK_FAR, JOIN } },
	{ "13", "mount, 1,000,000 locks held, time / empty store", "x", MOST(2), ratio, { HELD_MOUNT, EMPTY_MOUNT } },
	{ "14", "anonymous memory, base", "MiB", MOST(8), mebibytes, { EMPTY_ANON } },
	{ "14", "anonymous memory, for each held lock", "B", MOST(32), for_each_held, { HELD_ANON, EMPTY_ANON } },
	{ "14", "anonymous memory, for each parked waiter", "B", MOST(512), plain, { PARKED_ANON } },
	{ "", "anonymous memory, for each lock the kernel still knows", "B", NO_GOAL, plain, { CACHED_ANON } },
	{ "15", "store, for each held lock", "B", MOST(1024), plain, { HELD_BYTES } },
};

const size_t figures_count = sizeof(figures) / sizeof(figures[0]);

struct series figure_series(const struct figure *figure, const struct repetition *done, unsigned int repetitions)
{
	struct series series = { .count = 0 };

	for (unsigned int i = 0; i < repetitions; i++) {
		double sample = figure->from(done[i].values, figure->of);

		if (isfinite(sample))
			series_add(&series, sample);
	}
	return series;
}

struct series value_series(enum value value, const struct repetition *done, unsigned int repetitions)
{
	struct series series = { .count = 0 };

	for (unsigned int i = 0; i < repetitions; i++) {
		if (isfinite(done[i].values[value]))
			series_add(&series, done[i].values[value]);
	}
	return series;
}

double figure_reach(const struct figure *figure, double median)
{
	if (figure->goal.least != 0)
		return median / figure->goal.least;
	/* What costs nothing is as far below its limit as can be shown. */
	if (figure->goal.most != 0)
		return median > figure->goal.most / 1000 ? figure->goal.most / median : 1000;
	return 0;
}
