/*
 * A store with a million held locks beside an empty one.
 */
#include "core_million.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_load.h"
#include "core_report.h"
#include "core_side.h"

#define HELD 1000000U
#define BATCH 1000U /* acquired in one transaction */

static const struct goal no_goal;

struct batch {
	struct atlock_name names[BATCH];
	struct atlock_request requests[BATCH];
};

static void batch_acquire(struct side *side, struct batch *batch, unsigned int number)
{
	struct atlock_caller caller;
	struct atlock_why why;

	side_caller(&caller, number);
	for (unsigned int i = 0; i < BATCH; i++) {
		side_name(&batch->names[i], number * BATCH + i, "held");
		batch->requests[i] = (struct atlock_request){
			.name = &batch->names[i],
			.caller = &caller,
			.ttl = 3600 * ATLOCK_SECOND,
		};
	}
	side_check(atlock_acquire_all(side->al, batch->requests, BATCH, NULL, NULL, &why), &why);
}

void million_fill(struct side *side, unsigned int count)
{
	struct batch *batch = malloc(sizeof(*batch));
	struct atlock_status status;

	if (batch == NULL)
		err(1, "malloc");
	for (unsigned int i = 0; i < count / BATCH; i++)
		batch_acquire(side, batch, i);
	free(batch);
	if (atlock_status(side->al, &status) < 0 || status.held != count)
		errx(1, "not all of the locks came about");
}

static void million_build(const char *dir)
{
	struct side *side = side_new(dir, false, NULL);
	struct series rate = { .count = 0 };
	struct series size = { .count = 0 };
	struct atlock_status status;
	double begun = load_clock();

	million_fill(side, HELD);
	series_add(&rate, HELD / (load_clock() - begun));
	if (atlock_status(side->al, &status) < 0)
		errx(1, "the store cannot be read");
	series_add(&size, (double)status.store_used / HELD);
	side_free(side);
	report_line("acquired, 1000 in a transaction", "locks/s", &rate, no_goal);
	report_line("size of the store, with its events", "B/lock", &size, no_goal);
}

static void compare_report(const char *what, const struct contender *empty, const struct contender *full)
{
	struct series ratio = series_ratio(&full->rate, &empty->rate);
	char name[64];

	(void)snprintf(name, sizeof(name), "%s, empty store", what);
	report_line(name, "pairs/s", &empty->rate, no_goal);
	(void)snprintf(name, sizeof(name), "%s, a million held", what);
	report_line(name, "pairs/s", &full->rate, no_goal);
	(void)snprintf(name, sizeof(name), "%s, million / empty", what);
	report_line(name, "x", &ratio, (struct goal){ 0.8, 1.25 });
}

static void million_compare(const char *empty_dir, const char *full_dir, bool sync)
{
	struct side *empty = side_new(empty_dir, sync, NULL);
	struct side *full = side_new(full_dir, sync, NULL);
	struct contender sides[] = {
		{ .fn = side_pair, .arg = empty, .threads = 1 },
		{ .fn = side_pair, .arg = full, .threads = 1 },
		{ .fn = side_pair_spread, .arg = empty, .threads = 1 },
		{ .fn = side_pair_spread, .arg = full, .threads = 1 },
		{ .fn = side_pair, .arg = empty, .threads = LOAD_THREADS },
		{ .fn = side_pair, .arg = full, .threads = LOAD_THREADS },
	};

	load_compare(sides, sizeof(sides) / sizeof(sides[0]));
	side_free(full);
	side_free(empty);
	compare_report(sync ? "durable, one lock" : "sync=off, one lock", &sides[0], &sides[1]);
	compare_report(sync ? "durable, 4096 locks in turn" : "sync=off, 4096 locks in turn", &sides[2], &sides[3]);
	compare_report(sync ? "durable, 16 threads" : "sync=off, 16 threads", &sides[4], &sides[5]);
}

void million_measure(const char *dir)
{
	char empty[4096];
	char full[4096];

	(void)snprintf(empty, sizeof(empty), "%s/empty", dir);
	(void)snprintf(full, sizeof(full), "%s/million", dir);
	report_part(
		"A million held locks",
		"Acquire + release beside a million held locks and in an empty store: of one lock a thread, and of\n"
		"locks in turn whose names are spread over those that are held.");
	million_build(full);
	million_compare(empty, full, true);
	million_compare(empty, full, false);
}
