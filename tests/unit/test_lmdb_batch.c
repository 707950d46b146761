/*
 * The LMDB engine under many threads: shared commits, failures that stay alone, and a map that grows beneath readers.
 */
#include "store_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define THREADS 16
#define ROUNDS 50

struct fixture {
	struct store_fixture disk;
	_Atomic int wrong; /* cmocka's assertions only work on its own thread */
	_Atomic bool stop;
	_Atomic bool holding;
	_Atomic int started;
};

struct worker {
	struct fixture *fixture;
	unsigned int number;
	unsigned int round;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	store_fixture_init(&f->disk);
	assert_int_equal(store_fixture_open(&f->disk, false), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_fixture_fini(&f->disk);
	free(f);
	return 0;
}

static void run_threads(struct fixture *f, void *(*body)(void *))
{
	pthread_t threads[THREADS];
	struct worker workers[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .fixture = f, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(f->wrong, 0);
}

static uint64_t number_read(struct store_txn *txn, const char *key)
{
	struct slice value;
	uint64_t number = 0;

	if (store_get(txn, slice_of(key), &value) == 0)
		memcpy(&number, value.data, sizeof(number));
	return number;
}

static int number_write(struct store_txn *txn, const char *key, uint64_t number)
{
	return store_put(txn, slice_of(key), (struct slice){ .data = &number, .len = sizeof(number) });
}

static int total_fn(struct store_txn *txn, void *arg)
{
	*(uint64_t *)arg = number_read(txn, "total");
	return 0;
}

/* Adds one to a total that everybody shares; every third time it writes nonsense instead and fails. */
static int add_fn(struct store_txn *txn, void *arg)
{
	const struct worker *worker = arg;
	char own[32];

	(void)snprintf(own, sizeof(own), "own/%u", worker->number);
	if ((worker->round + worker->number) % 3 == 0) {
		(void)number_write(txn, "total", 999999);
		(void)store_del(txn, slice_of(own));
		return -EPERM;
	}
	if (number_write(txn, "total", number_read(txn, "total") + 1) < 0 ||
	    number_write(txn, own, number_read(txn, own) + 1) < 0)
		return -EIO;
	return 5;
}

static void *add_body(void *arg)
{
	struct worker *worker = arg;

	for (worker->round = 0; worker->round < ROUNDS * 3; worker->round++) {
		int expected = (worker->round + worker->number) % 3 == 0 ? -EPERM : 5;

		if (store_update(worker->fixture->disk.store, add_fn, worker) != expected)
			worker->fixture->wrong++;
	}
	return NULL;
}

static void functions_that_share_a_commit_fail_alone(void **state)
{
	struct fixture *f = *state;
	struct store_stats stats;
	uint64_t total;

	run_threads(f, add_body);
	assert_int_equal(store_view(f->disk.store, total_fn, &total), 0);
	assert_int_equal(total, THREADS * ROUNDS * 2);
	store_stats(f->disk.store, &stats);
	assert_int_equal(stats.updates, THREADS * ROUNDS * 2);
	assert_true(stats.commits <= THREADS * ROUNDS * 3);
}

/* Leads until all the others are on their way into the queue, and gives them time to get there. */
static int hold_fn(struct store_txn *txn, void *arg)
{
	struct fixture *f = arg;

	f->holding = true;
	while (f->started < THREADS - 1)
		(void)sched_yield();
	for (int i = 0; i < 1000; i++)
		(void)sched_yield();
	return number_write(txn, "held", 1);
}

static int join_fn(struct store_txn *txn, void *arg)
{
	(void)arg;
	return number_write(txn, "total", number_read(txn, "total") + 1);
}

static void *join_body(void *arg)
{
	struct worker *worker = arg;
	struct fixture *f = worker->fixture;

	if (worker->number == 0) {
		f->wrong += store_update(f->disk.store, hold_fn, f) != 0;
	} else {
		while (!f->holding)
			(void)sched_yield();
		f->started++;
		f->wrong += store_update(f->disk.store, join_fn, NULL) != 0;
	}
	return NULL;
}

static void those_who_come_during_a_commit_share_the_next(void **state)
{
	struct fixture *f = *state;
	struct store_stats stats;
	uint64_t total;

	run_threads(f, join_body);
	store_stats(f->disk.store, &stats);
	assert_int_equal(stats.updates, THREADS);
	assert_true(stats.commits <= THREADS / 2);
	assert_int_equal(store_view(f->disk.store, total_fn, &total), 0);
	assert_int_equal(total, THREADS - 1);
}

/* sched_yield() is the test's own, for the store too: it takes a millisecond, and is counted. */
static _Atomic unsigned int yields;

int sched_yield(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	yields++;
	return nanosleep(&pause, NULL);
}

struct crowd {
	struct fixture *fixture;
	uint64_t size; /* how many the one that holds the commit waits for */
};

static int crowd_hold_fn(struct store_txn *txn, void *arg)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct crowd *crowd = arg;
	struct store_stats stats;

	(void)txn;
	crowd->fixture->holding = true;
	do {
		nanosleep(&pause, NULL);
		store_stats(crowd->fixture->disk.store, &stats);
	} while (stats.waiting < crowd->size);
	return 0;
}

static int slow_fn(struct store_txn *txn, void *arg)
{
	const struct timespec second = { .tv_sec = 1 };

	nanosleep(&second, NULL);
	return join_fn(txn, arg);
}

static void *crowd_body(void *arg)
{
	struct worker *worker = arg;
	struct fixture *f = worker->fixture;
	struct crowd crowd = { f, 2 };

	if (worker->number == 0) {
		f->wrong += store_update(f->disk.store, crowd_hold_fn, &crowd) != 0;
	} else if (worker->number <= crowd.size) {
		while (!f->holding)
			(void)sched_yield();
		f->wrong += store_update(f->disk.store, slow_fn, NULL) != 0;
	}
	return NULL;
}

/* Of two that shared a commit of two seconds one comes back. A quarter of that time would be five hundred looks for the other. */
static void after_a_slow_commit_nobody_is_waited_for_long(void **state)
{
	struct fixture *f = *state;

	run_threads(f, crowd_body);
	yields = 0;
	assert_int_equal(store_update(f->disk.store, join_fn, NULL), 0);
	assert_in_range(yields, 1, 50);
}

/* Two keys that are always written alike: a view that sees them differ is no snapshot. */
static int twins_fn(struct store_txn *txn, void *arg)
{
	const struct worker *worker = arg;
	static const char filler[8192];
	char key[32];

	(void)snprintf(key, sizeof(key), "fill/%u/%u", worker->number, worker->round);
	uint64_t value = number_read(txn, "left") + 1;
	if (number_write(txn, "left", value) < 0 || number_write(txn, "right", value) < 0)
		return -EIO;
	return store_put(txn, slice_of(key), (struct slice){ .data = filler, .len = sizeof(filler) });
}

static int compare_fn(struct store_txn *txn, void *arg)
{
	struct slice key;
	struct slice value;

	(void)arg;
	if (number_read(txn, "left") != number_read(txn, "right"))
		return -EUCLEAN;
	return store_next(txn, slice_of("fill/"), slice_of("fill/"), &key, &value) < 0 ? -EIO : 0;
}

static void *twins_body(void *arg)
{
	struct worker *worker = arg;
	struct fixture *f = worker->fixture;

	/* One half writes some 40 MiB, the other looks on: the map begins at 16 MiB. */
	if (worker->number % 2 == 0) {
		for (worker->round = 0; worker->round < 600; worker->round++)
			f->wrong += store_update(f->disk.store, twins_fn, worker) != 0;
		f->stop = true;
	} else {
		while (!f->stop)
			f->wrong += store_view(f->disk.store, compare_fn, NULL) != 0;
	}
	return NULL;
}

static void the_map_grows_beneath_views(void **state)
{
	struct fixture *f = *state;
	struct store_options options = { .sync = STORE_SYNC_OFF };
	struct store_space space;
	char why[512];

	store_close(f->disk.store);
	assert_int_equal(store_open(&f->disk.store, f->disk.dir, &options, why, sizeof(why)), 0);
	run_threads(f, twins_body);
	store_space(f->disk.store, &space);
	assert_true(space.used > (uint64_t)32 * 1024 * 1024);
	assert_false(space.low);
}

static int huge_fn(struct store_txn *txn, void *arg)
{
	static const char filler[STORE_VALUE_MAX];
	const struct worker *worker = arg;
	char key[32];

	if (worker->number != 0)
		return add_fn(txn, arg);
	for (int i = 0; i < 8; i++) {
		(void)snprintf(key, sizeof(key), "huge/%d", i);
		if (store_put(txn, slice_of(key), (struct slice){ .data = filler, .len = sizeof(filler) }) < 0)
			return -EIO;
	}
	return 0;
}

static void *huge_body(void *arg)
{
	struct worker *worker = arg;

	worker->round = 1 + 2 * worker->number; /* never one that add_fn() fails */
	for (int i = 0; i < ROUNDS; i++) {
		int expected = worker->number == 0 ? -ENOSPC : 5;

		if (store_update(worker->fixture->disk.store, huge_fn, worker) != expected)
			worker->fixture->wrong++;
	}
	return NULL;
}

static void one_that_does_not_fit_fails_alone(void **state)
{
	struct fixture *f = *state;
	struct store_options options = { .max_bytes = (uint64_t)4 * 1024 * 1024 };
	char why[512];
	uint64_t total;

	store_close(f->disk.store);
	assert_int_equal(store_open(&f->disk.store, f->disk.dir, &options, why, sizeof(why)), 0);
	run_threads(f, huge_body);
	assert_int_equal(store_view(f->disk.store, total_fn, &total), 0);
	assert_int_equal(total, (THREADS - 1) * ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(those_who_come_during_a_commit_share_the_next, setup, teardown),
		cmocka_unit_test_setup_teardown(functions_that_share_a_commit_fail_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(after_a_slow_commit_nobody_is_waited_for_long, setup, teardown),
		cmocka_unit_test_setup_teardown(the_map_grows_beneath_views, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_does_not_fit_fails_alone, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
