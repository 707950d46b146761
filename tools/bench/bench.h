/*
 * What atlock bench measures, and where: a scratch directory of the mount, in which processes take and release locks of their
 * own. Nothing is left behind, even if bench is killed: another process, the janitor, waits until all others have ended and
 * removes their locks and directories.
 *
 *	bench_place_open(), bench_place_make(), bench_crew() for each measurement, bench_place_close()
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "histogram.h"
#include "lockpath.h"

#define BENCH_JOBS_MAX 256
#define BENCH_PATH 160
#define BENCH_PAUSE 20000 /* microseconds after a refusal by the rate limit */

/* custom/atlock-bench-7-1f00/0/lock, or repos/atlock-bench-7-1f00/-/0/-/lock where that is all one may write. */
struct bench_place {
	const struct tool *tool;
	const struct mount *mount;
	unsigned int jobs;
	bool custom;
	char dir[64];    /* "" before there is one */
	const char *who; /* "", or "@bench" where the file system cannot see the session */
	pid_t janitor;
	int alive; /* the janitor waits until no process has this descriptor any more */
};

/* Starts the janitor. NULL and errno. */
struct bench_place *bench_place_open(const struct tool *tool, const struct mount *mount, unsigned int jobs);

/* EXIT_DONE, or another exit code once it has said why: 77 if nothing may be taken anywhere. */
int bench_place_make(struct bench_place *place);

/* Lets the janitor remove everything, and waits for it: EXIT_DONE, or another exit code once it has said that something stays. */
int bench_place_close(struct bench_place *place);

/* The path below the root of the lock of one process: with "wait/" in front, or with a who. */
void bench_path(const struct bench_place *place, const char *front, unsigned int number, const char *who,
		char out[BENCH_PATH]);

/* What a process has done; in memory that it shares with its parent. */
struct bench_tally {
	struct histogram took; /* nanoseconds */
	uint64_t refused;      /* by the rate limit */
	int64_t begun;         /* by moment_steady() */
	int64_t ended;
	int err; /* the error that ended it early, or 0 */
};

struct bench_worker {
	const struct bench_place *place;
	unsigned int number;
	struct bench_tally *tally;
	char path[BENCH_PATH];    /* of its lock */
	char other[BENCH_PATH];   /* hand-over: where it waits */
	int link[2];              /* hand-over: to read from and to write to the other one */
	_Atomic int64_t *granted; /* hand-over: when it was; shared */
};

/* One kind of work. */
struct bench_work {
	const char *name; /* in JSON */
	const char *title;
	bool pair; /* two processes hand a lock over; the first one measures */
	void (*begin)(struct bench_worker *worker);
	int (*step)(
		struct bench_worker *worker); /* 0; -EAGAIN: not now; -EPIPE: all is done; or another negative errno */
	void (*end)(struct bench_worker *worker); /* releases what a step may have left */
};

extern const struct bench_work bench_cycle;
extern const struct bench_work bench_read;
extern const struct bench_work bench_hand;

struct bench_result {
	struct histogram took;
	uint64_t refused;
	double seconds;
	int err;
};

/*
 * Runs `jobs` processes, two for a pair, for `duration` nanoseconds; calls `tick` now and then with the share of it that has passed.
 * Returns 0, the number of a signal that came before the end, or a negative errno. All processes have ended when it returns.
 */
int bench_crew(const struct bench_place *place, const struct bench_work *work, unsigned int jobs, int64_t duration,
	       void (*tick)(void *arg, double share), void *arg, struct bench_result *out);

/* From now on signals that would end this process are recorded for bench_crew() and bench_signal(). */
void bench_signals_keep(void);

/* The one that came, or 0. */
int bench_signal(void);

#endif
