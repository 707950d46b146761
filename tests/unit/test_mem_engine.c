/*
 * The tests' own engine: every fault it can be asked for, since other tests trust it.
 */
#include "mem_engine.h"
#include "store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct mem_world *world;
	struct store *store;
	int runs;
};

static void reopen(struct fixture *f)
{
	struct store_options options = { .engine = &mem_engine, .engine_arg = f->world };
	char why[256];

	store_close(f->store);
	assert_int_equal(store_open(&f->store, "mem", &options, why, sizeof(why)), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->world = mem_world_new(7);
	reopen(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->store);
	mem_world_free(f->world);
	free(f);
	return 0;
}

static int put_fn(struct store_txn *txn, void *arg)
{
	return store_put(txn, slice_of(arg), slice_of("x"));
}

static int has_fn(struct store_txn *txn, void *arg)
{
	struct slice value;

	return store_get(txn, slice_of(arg), &value);
}

static int run_fn(struct store_txn *txn, void *arg)
{
	struct fixture *f = arg;

	f->runs++;
	return store_put(txn, slice_of("run"), slice_of("x"));
}

static void committed_data_outlives_the_store(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_update(f->store, put_fn, "a"), 0);
	reopen(f);
	assert_int_equal(store_view(f->store, has_fn, "a"), 0);
	assert_int_equal(store_view(f->store, has_fn, "b"), 1);
}

static void the_named_commit_fails_and_no_other(void **state)
{
	struct fixture *f = *state;

	mem_world_faults(f->world)->fail_in = 2;
	mem_world_faults(f->world)->fail_error = ENOSPC;
	assert_int_equal(store_update(f->store, put_fn, "a"), 0);
	assert_int_equal(store_update(f->store, put_fn, "b"), -ENOSPC);
	assert_int_equal(store_update(f->store, put_fn, "c"), 0);
	assert_int_equal(store_view(f->store, has_fn, "a"), 0);
	assert_int_equal(store_view(f->store, has_fn, "b"), 1);
	assert_int_equal(store_view(f->store, has_fn, "c"), 0);
}

static void crash(struct fixture *f, bool applied)
{
	struct mem_counts counts;

	mem_world_faults(f->world)->crash_in = 1;
	mem_world_faults(f->world)->crash_applied = applied;
	assert_int_equal(store_update(f->store, put_fn, "a"), -EIO);
	mem_world_counts(f->world, &counts);
	assert_true(counts.down);
	assert_int_equal(store_update(f->store, put_fn, "b"), -EIO);
	assert_int_equal(store_view(f->store, has_fn, "a"), -EIO);
	reopen(f);
	assert_int_equal(store_view(f->store, has_fn, "a"), applied ? 0 : 1);
	assert_int_equal(store_view(f->store, has_fn, "b"), 1);
	assert_int_equal(store_update(f->store, put_fn, "c"), 0);
}

static void a_crash_before_the_commit_loses_it(void **state)
{
	crash(*state, false);
}

static void a_crash_after_the_commit_keeps_it(void **state)
{
	crash(*state, true);
}

static void functions_run_twice_as_often_as_asked(void **state)
{
	struct fixture *f = *state;
	struct mem_counts counts;

	mem_world_faults(f->world)->rerun_percent = 100;
	assert_int_equal(store_update(f->store, run_fn, f), 0);
	assert_int_equal(f->runs, 2);
	mem_world_faults(f->world)->rerun_percent = 50;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(store_update(f->store, run_fn, f), 0);
	mem_world_counts(f->world, &counts);
	assert_in_range(counts.reruns, 400, 600);
	assert_int_equal(f->runs, 1001 + (int)counts.reruns);
	assert_int_equal(counts.commits, 1001);
}

static void space_is_low_at_so_many_keys(void **state)
{
	struct fixture *f = *state;
	struct store_space space;

	mem_world_faults(f->world)->max_keys = 2;
	assert_int_equal(store_update(f->store, put_fn, "a"), 0);
	store_space(f->store, &space);
	assert_false(space.low);
	assert_int_equal(store_update(f->store, put_fn, "b"), 0);
	store_space(f->store, &space);
	assert_true(space.low);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(committed_data_outlives_the_store, setup, teardown),
		cmocka_unit_test_setup_teardown(the_named_commit_fails_and_no_other, setup, teardown),
		cmocka_unit_test_setup_teardown(a_crash_before_the_commit_loses_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_crash_after_the_commit_keeps_it, setup, teardown),
		cmocka_unit_test_setup_teardown(functions_run_twice_as_often_as_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(space_is_low_at_so_many_keys, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
