/*
 * The core alone against bare LMDB. Both sides are measured in turns, so that a busy machine hurts them alike; each line
 * is the median of all repetitions, with the spread beside it. A goal that is missed is said, and is no failure: machines
 * differ.
 *
 *	bench_core [directory [part...]]
 *
 * Stores are made below the directory, which should be on a real disk, and removed again. BENCH_JSON=file keeps the figures.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_bare.h"
#include "core_load.h"
#include "core_million.h"
#include "core_queue.h"
#include "core_report.h"
#include "core_side.h"
#include "scratch.h"

#define PAIRS 20000U /* on the tape, and in one sample without sync */

static const struct goal no_goal;
static char *scratch;
static struct tape tape; /* what PAIRS pairs write */

static void scratch_clean(void)
{
	scratch_remove(scratch);
	scratch = NULL;
	tape_free(&tape);
}

/* A new directory for a store below the scratch directory. */
static const char *store_dir(const char *name, int number)
{
	static char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s-%d", scratch, name, number);
	if (mkdir(path, 0700) < 0)
		err(1, "%s", path);
	return path;
}

static void tape_make(void)
{
	struct side *side = side_new(store_dir("tape", 0), false, tape_engine());

	tape_record(&tape);
	(void)load_times(PAIRS, side_pair, side);
	tape_record(NULL);
	side_free(side);
	(void)printf("%ld CPUs; stores below %s; median of %d [least .. most]\n"
		     "One acquire + release writes %.0f bytes of keys and values in 2 commits.\n",
		     sysconf(_SC_NPROCESSORS_ONLN), scratch, REPETITIONS, (double)tape.bytes / PAIRS);
}

static void durable_measure(const char *dir)
{
	enum { PUT, SAME, ONE, PUT_MANY, MANY, SIDES };
	struct side *side = side_new(store_dir("durable-core", 0), true, NULL);
	struct bare bare;
	struct bare copy;
	struct replay replay = { .bare = &copy, .tape = &tape };
	struct contender sides[SIDES] = {
		[PUT] = { .fn = bare_pair, .arg = &bare, .threads = 1 },
		[SAME] = { .fn = replay_pair, .arg = &replay, .threads = 1 },
		[ONE] = { .fn = side_pair, .arg = side, .threads = 1 },
		[PUT_MANY] = { .fn = bare_pair, .arg = &bare, .threads = LOAD_THREADS },
		[MANY] = { .fn = side_pair, .arg = side, .threads = LOAD_THREADS },
	};

	(void)dir;
	report_part(
		"Durable, each thread its own lock",
		"Bare LMDB puts a record of a lock's size in one commit and deletes it in another;\n"
		"\"the core's writes\" are all keys and values that the core puts and deletes in those two commits.\n"
		"All wait for the same disk. The first uses the same few pages again and again; the others keep\n"
		"their events, so their files grow.");
	bare_open(&bare, store_dir("durable-bare", 0), true);
	bare_open(&copy, store_dir("durable-same", 0), true);
	load_compare(sides, SIDES);
	bare_close(&copy);
	bare_close(&bare);
	side_free(side);

	struct series to_put = series_ratio(&sides[ONE].rate, &sides[PUT].rate);
	struct series to_same = series_ratio(&sides[ONE].rate, &sides[SAME].rate);
	struct series gain = series_ratio(&sides[MANY].rate, &sides[ONE].rate);
	report_line("bare LMDB, put + delete, 1 thread", "pairs/s", &sides[PUT].rate, no_goal);
	report_line("bare LMDB, the core's writes, 1 thread", "pairs/s", &sides[SAME].rate, no_goal);
	report_line("core, 1 thread", "pairs/s", &sides[ONE].rate, no_goal);
	report_line("core / put + delete", "x", &to_put, (struct goal){ .least = 0.85 });
	report_line("core / the core's writes", "x", &to_same, no_goal);
	report_line("bare LMDB, put + delete, 16 threads", "pairs/s", &sides[PUT_MANY].rate, no_goal);
	report_line("core, 16 threads", "pairs/s", &sides[MANY].rate, no_goal);
	report_line("core, 16 threads / 1 thread", "x", &gain, (struct goal){ .least = 5 });
}

static void unsynced_measure(const char *dir)
{
	struct series same = { .count = 0 };
	struct series core = { .count = 0 };

	(void)dir;
	report_part("sync=off, one thread",
		    "Bare LMDB with MDB_NOSYNC writes the very keys and values that as many pairs of the core wrote,\n"
		    "in as many commits. Each sample begins with an empty store.");
	for (int i = 0; i < REPETITIONS; i++) {
		struct side *side = side_new(store_dir("off-core", i), false, NULL);
		struct bare bare;
		struct replay replay = { .bare = &bare, .tape = &tape };

		bare_open(&bare, store_dir("off-bare", i), false);
		series_add(&same, load_times(PAIRS, replay_pair, &replay));
		series_add(&core, load_times(PAIRS, side_pair, side));
		bare_close(&bare);
		side_free(side);
	}

	struct series ratio = series_ratio(&core, &same);
	report_line("bare LMDB, the core's writes", "pairs/s", &same, no_goal);
	report_line("core", "pairs/s", &core, no_goal);
	report_line("core / bare LMDB", "x", &ratio, (struct goal){ .least = 0.3 });
}

static const struct {
	const char *name;
	void (*measure)(const char *dir);
} parts[] = {
	{ "durable", durable_measure },         { "off", unsynced_measure },
	{ "million", million_measure },         { "grant", queue_measure_grant },
	{ "deadlock", queue_measure_deadlock },
};

/* Whether the part was asked for; all are if none is named. */
static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return argc <= 2;
}

int main(int argc, char **argv)
{
	if (setenv("TMPDIR", argc > 1 ? argv[1] : "build", 1) < 0)
		err(1, "setenv");
	scratch = scratch_new();
	(void)atexit(scratch_clean);
	tape_make();
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (is_wanted(parts[i].name, argc, argv))
			parts[i].measure(scratch);
	}
	report_save(getenv("BENCH_JSON"));
	return 0;
}
