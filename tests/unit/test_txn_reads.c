/*
 * The read set of a commit: what an engine that other hosts write to compares, and what it does on a conflict.
 */
#include "mem_engine.h"
#include "store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct mem_world *world;
	struct store *store;
	struct store *other; /* another host's */
	int runs;
	const char *changes; /* key that the other host puts before the first commit, "-key": removes */
	bool recorded;       /* the commit had a read set */
	char reads[256];     /* its keys, with '!' before those that were absent */
	bool durable;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->world = mem_world_new(7);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->store);
	store_close(f->other);
	mem_world_free(f->world);
	free(f);
	return 0;
}

static int put_fn(struct store_txn *txn, void *arg)
{
	const char *key = arg;

	return *key == '-' ? store_del(txn, slice_of(key + 1)) : store_put(txn, slice_of(key), slice_of("other"));
}

static void before_commit(void *arg, const struct txn_commit *commit)
{
	struct fixture *f = arg;
	const char *changes = f->changes;

	f->recorded = commit->reads != NULL;
	f->durable = commit->durable;
	f->reads[0] = '\0';
	for (size_t i = 0; f->recorded && i < commit->reads->count; i++) {
		const struct txn_read *read = &commit->reads->list[i];
		size_t len = strlen(f->reads);

		(void)snprintf(f->reads + len, sizeof(f->reads) - len, "%s%s%.*s", i == 0 ? "" : " ",
			       read->version == 0 ? "!" : "", (int)read->key.len, (const char *)read->key.data);
	}
	f->changes = NULL;
	if (changes == NULL)
		return;
	/* The other host's commit is not looked at. */
	mem_world_faults(f->world)->before_commit = NULL;
	assert_int_equal(store_update(f->other, put_fn, (void *)(uintptr_t)changes), 0);
	mem_world_faults(f->world)->before_commit = before_commit;
}

/* Opens both stores, with a few keys in them. */
static void begin(struct fixture *f, bool compares)
{
	static const char *const keys[] = { "a", "b", "p1", "p2", "p3", "p4" };
	struct store_options options = { .engine = &mem_engine, .engine_arg = f->world };
	char why[256];

	mem_world_faults(f->world)->compares = compares;
	assert_int_equal(store_open(&f->store, "mem", &options, why, sizeof(why)), 0);
	assert_int_equal(store_open(&f->other, "mem", &options, why, sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_int_equal(store_update(f->other, put_fn, (void *)(uintptr_t)keys[i]), 0);
	mem_world_faults(f->world)->before_commit = before_commit;
	mem_world_faults(f->world)->before_arg = f;
}

/* Reads in every way there is. The scan returns "p0" to "p4" without "p3", which the function removed. */
static int every_fn(struct store_txn *txn, void *arg)
{
	struct fixture *f = arg;
	struct slice value;
	struct slice key;
	char from[8] = "p";

	f->runs++;
	assert_int_equal(store_get(txn, slice_of("a"), &value), 0);
	assert_int_equal(store_get(txn, slice_of("a"), &value), 0);
	assert_int_equal(store_get(txn, slice_of("none"), &value), 1);
	assert_int_equal(store_del(txn, slice_of("b")), 0);
	assert_int_equal(store_del(txn, slice_of("gone")), 1);
	assert_int_equal(store_put(txn, slice_of("p0"), slice_of("own")), 0);
	assert_int_equal(store_get(txn, slice_of("p0"), &value), 0);
	assert_int_equal(store_drop(txn, slice_of("p3")), 0);
	while (store_next(txn, slice_of(from), slice_of("p"), &key, &value) == 0)
		(void)snprintf(from, sizeof(from), "%.*s~", (int)key.len, (const char *)key.data);
	assert_string_equal(from, "p4~");
	store_txn_sync(txn);
	return 0;
}

static void the_read_set_has_every_key_read_and_no_own_write(void **state)
{
	struct fixture *f = *state;

	begin(f, true);
	assert_int_equal(store_update(f->store, every_fn, f), 0);
	assert_true(f->recorded);
	assert_true(f->durable);
	assert_string_equal(f->reads, "a b !gone !none p1 p2 p4");
	assert_int_equal(f->runs, 1);
}

/* Leaves in "copy" what it found: the value of "a", whether "none" is there, and the last key of the scan. */
static int copy_fn(struct store_txn *txn, void *arg)
{
	struct fixture *f = arg;
	struct slice a = slice_of("-");
	struct slice value;
	struct slice key;
	char from[8] = "p";
	char copy[64];

	f->runs++;
	(void)store_get(txn, slice_of("a"), &a);
	bool none = store_get(txn, slice_of("none"), &value) == 0;
	while (store_next(txn, slice_of(from), slice_of("p"), &key, NULL) == 0)
		(void)snprintf(from, sizeof(from), "%.*s~", (int)key.len, (const char *)key.data);
	(void)snprintf(copy, sizeof(copy), "%.*s %d %s", (int)a.len, (const char *)a.data, none, from);
	return store_put(txn, slice_of("copy"), slice_of(copy));
}

static int copy_is_fn(struct store_txn *txn, void *arg)
{
	struct slice value;
	int rc = store_get(txn, slice_of("copy"), &value);

	assert_int_equal(rc, 0);
	assert_int_equal(value.len, strlen(arg));
	assert_memory_equal(value.data, arg, value.len);
	return 0;
}

static void conflict(struct fixture *f, const char *changes, const char *copy, int runs)
{
	struct mem_counts before;
	struct mem_counts after;

	mem_world_counts(f->world, &before);
	f->changes = changes;
	f->runs = 0;
	assert_int_equal(store_update(f->store, copy_fn, f), 0);
	mem_world_counts(f->world, &after);
	assert_int_equal(f->runs, runs);
	assert_int_equal(after.conflicts - before.conflicts, runs - 1);
	assert_int_equal(store_view(f->store, copy_is_fn, (void *)(uintptr_t)copy), 0);
}

static void a_change_of_a_key_read_runs_the_function_again(void **state)
{
	struct fixture *f = *state;

	begin(f, true);
	conflict(f, NULL, "other 0 p4~", 1);
	conflict(f, "b", "other 0 p4~", 1); /* not read */
	conflict(f, "a", "other 0 p4~", 2);
	conflict(f, "-a", "- 0 p4~", 2);
	conflict(f, "none", "- 1 p4~", 2);
	conflict(f, "-p4", "- 1 p3~", 2);
}

static void an_engine_that_compares_nothing_gets_no_read_set(void **state)
{
	struct fixture *f = *state;

	begin(f, false);
	assert_int_equal(store_update(f->store, every_fn, f), 0);
	assert_false(f->recorded);
	f->changes = "a";
	f->runs = 0;
	assert_int_equal(store_update(f->store, copy_fn, f), 0);
	assert_int_equal(f->runs, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_read_set_has_every_key_read_and_no_own_write, setup, teardown),
		cmocka_unit_test_setup_teardown(a_change_of_a_key_read_runs_the_function_again, setup, teardown),
		cmocka_unit_test_setup_teardown(an_engine_that_compares_nothing_gets_no_read_set, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
