/*
 * The write set over an engine's reads: what a function sees of its own writes, and what is left of them.
 */
#include "mem_engine.h"
#include "store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct mem_world *world;
	struct store *store;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char why[256];

	assert_non_null(f);
	f->world = mem_world_new(1);
	struct store_options options = { .engine = &mem_engine, .engine_arg = f->world };
	assert_int_equal(store_open(&f->store, "mem", &options, why, sizeof(why)), 0);
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

static void put(struct store_txn *txn, const char *key, const char *value)
{
	assert_int_equal(store_put(txn, slice_of(key), slice_of(value)), 0);
}

/* Appends "key=value " for every key below `prefix`. */
static void dump(struct store_txn *txn, const char *prefix, char *out, size_t len)
{
	unsigned char from[STORE_KEY_MAX + 1];
	struct slice at = { .data = from, .len = 0 };
	struct slice key;
	struct slice value;
	size_t used = 0;

	out[0] = 0;
	while (store_next(txn, at, slice_of(prefix), &key, &value) == 0) {
		int n = snprintf(out + used, len - used, "%.*s=%.*s ", (int)key.len, (const char *)key.data,
				 (int)value.len, (const char *)value.data);
		used += (size_t)n;
		memcpy(from, key.data, key.len);
		from[key.len] = 0;
		at.len = key.len + 1;
	}
}

static int fill_fn(struct store_txn *txn, void *arg)
{
	(void)arg;
	put(txn, "b1", "B1");
	put(txn, "a", "A");
	put(txn, "b3", "B3");
	put(txn, "c", "C");
	put(txn, "b", "B");
	return 0;
}

struct dumped {
	const char *prefix;
	char text[256];
};

static int dump_fn(struct store_txn *txn, void *arg)
{
	struct dumped *dumped = arg;

	dump(txn, dumped->prefix, dumped->text, sizeof(dumped->text));
	return 0;
}

static void assert_holds(struct store *store, const char *prefix, const char *expected)
{
	struct dumped dumped = { .prefix = prefix };

	assert_int_equal(store_view(store, dump_fn, &dumped), 0);
	assert_string_equal(dumped.text, expected);
}

static void keys_come_in_order_and_below_their_prefix(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_update(f->store, fill_fn, NULL), 0);
	assert_holds(f->store, "", "a=A b=B b1=B1 b3=B3 c=C ");
	assert_holds(f->store, "b", "b=B b1=B1 b3=B3 ");
	assert_holds(f->store, "b2", "");
	assert_holds(f->store, "d", "");
}

static int overlay_fn(struct store_txn *txn, void *arg)
{
	char text[256];

	(void)arg;
	put(txn, "b2", "new");
	put(txn, "b3", "changed");
	assert_int_equal(store_del(txn, slice_of("b")), 0);
	assert_int_equal(store_del(txn, slice_of("c")), 0);
	put(txn, "d", "new");
	put(txn, "e", "gone again");
	assert_int_equal(store_del(txn, slice_of("e")), 0);
	assert_int_equal(store_del(txn, slice_of("e")), 1);
	assert_int_equal(store_del(txn, slice_of("b")), 1);
	assert_int_equal(store_del(txn, slice_of("nowhere")), 1);
	dump(txn, "", text, sizeof(text));
	assert_string_equal(text, "a=A b1=B1 b2=new b3=changed d=new ");
	dump(txn, "b", text, sizeof(text));
	assert_string_equal(text, "b1=B1 b2=new b3=changed ");
	put(txn, "c", "back");
	dump(txn, "c", text, sizeof(text));
	assert_string_equal(text, "c=back ");
	return 3;
}

static void a_function_sees_its_own_writes_merged(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_update(f->store, fill_fn, NULL), 0);
	assert_int_equal(store_update(f->store, overlay_fn, NULL), 3);
	assert_holds(f->store, "", "a=A b1=B1 b2=new b3=changed c=back d=new ");
}

static int drop_fn(struct store_txn *txn, void *arg)
{
	struct slice value;

	(void)arg;
	put(txn, "b1", "changed");
	assert_int_equal(store_drop(txn, slice_of("b")), 0);
	assert_int_equal(store_drop(txn, slice_of("b")), 0);
	assert_int_equal(store_drop(txn, slice_of("b1")), 0);
	assert_int_equal(store_get(txn, slice_of("b"), &value), 1);
	assert_int_equal(store_get(txn, slice_of("b1"), &value), 1);
	assert_int_equal(store_del(txn, slice_of("b")), 1);
	assert_int_equal(store_drop(txn, slice_of("nowhere")), 0);
	assert_int_equal(store_drop(txn, slice_of("c")), 0);
	put(txn, "c", "back");
	return 0;
}

static void a_key_is_dropped_whether_it_is_there_or_not(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_update(f->store, fill_fn, NULL), 0);
	assert_int_equal(store_update(f->store, drop_fn, NULL), 0);
	assert_holds(f->store, "", "a=A b3=B3 c=back ");
}

static int remove_all_fn(struct store_txn *txn, void *arg)
{
	struct slice key;
	int removed = 0;

	(void)arg;
	while (store_next(txn, (struct slice){ .len = 0 }, slice_of("b"), &key, NULL) == 0) {
		assert_int_equal(store_del(txn, key), 0);
		removed++;
	}
	return removed;
}

static void removals_side_by_side_are_skipped(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_update(f->store, fill_fn, NULL), 0);
	assert_int_equal(store_update(f->store, remove_all_fn, NULL), 3);
	assert_holds(f->store, "", "a=A c=C ");
}

static int failing_fn(struct store_txn *txn, void *arg)
{
	(void)arg;
	put(txn, "a", "spoilt");
	assert_int_equal(store_del(txn, slice_of("b")), 0);
	return -EPERM;
}

static void a_failing_function_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_update(f->store, fill_fn, NULL), 0);
	assert_int_equal(store_update(f->store, failing_fn, NULL), -EPERM);
	assert_holds(f->store, "", "a=A b=B b1=B1 b3=B3 c=C ");
}

static int stay_fn(struct store_txn *txn, void *arg)
{
	struct slice old;
	struct slice own;
	char key[16];

	(void)arg;
	assert_int_equal(store_get(txn, slice_of("a"), &old), 0);
	put(txn, "own", "mine");
	assert_int_equal(store_get(txn, slice_of("own"), &own), 0);
	put(txn, "own", "other");
	put(txn, "a", "other");
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(key, sizeof(key), "k%d", (i * 7919) % 5000);
		put(txn, key, "a value that takes up some room in the arena");
	}
	assert_memory_equal(old.data, "A", 1);
	assert_memory_equal(own.data, "mine", 4);
	return 0;
}

static void what_was_read_stays_while_the_function_writes(void **state)
{
	struct fixture *f = *state;
	struct mem_counts counts;

	assert_int_equal(store_update(f->store, fill_fn, NULL), 0);
	assert_int_equal(store_update(f->store, stay_fn, NULL), 0);
	mem_world_counts(f->world, &counts);
	assert_int_equal(counts.keys, 5 + 1 + 5000);
}

static int limits_fn(struct store_txn *txn, void *arg)
{
	static unsigned char bytes[STORE_VALUE_MAX + 1];
	struct slice longest = { .data = bytes, .len = STORE_KEY_MAX };
	struct slice value;

	(void)arg;
	assert_int_equal(store_put(txn, (struct slice){ .len = 0 }, slice_of("x")), -EINVAL);
	assert_int_equal(store_put(txn, (struct slice){ .data = bytes, .len = STORE_KEY_MAX + 1 }, slice_of("x")),
			 -EINVAL);
	assert_int_equal(store_put(txn, slice_of("x"), (struct slice){ .data = bytes, .len = sizeof(bytes) }), -E2BIG);
	assert_int_equal(store_get(txn, (struct slice){ .len = 0 }, &value), 1);
	assert_int_equal(store_get(txn, (struct slice){ .data = bytes, .len = STORE_KEY_MAX + 1 }, &value), 1);
	assert_int_equal(store_del(txn, (struct slice){ .len = 0 }), 1);
	assert_int_equal(store_drop(txn, (struct slice){ .len = 0 }), -EINVAL);
	assert_int_equal(store_put(txn, longest, (struct slice){ .data = bytes, .len = STORE_VALUE_MAX }), 0);
	assert_int_equal(store_get(txn, longest, &value), 0);
	assert_int_equal(value.len, STORE_VALUE_MAX);
	assert_int_equal(store_put(txn, slice_of("empty"), (struct slice){ .len = 0 }), 0);
	assert_int_equal(store_get(txn, slice_of("empty"), &value), 0);
	assert_int_equal(value.len, 0);
	return 0;
}

static void lengths_are_checked(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_update(f->store, limits_fn, NULL), 0);
	assert_holds(f->store, "e", "empty= ");
}

static int write_fn(struct store_txn *txn, void *arg)
{
	(void)arg;
	assert_int_equal(store_del(txn, slice_of("a")), -EROFS);
	assert_int_equal(store_drop(txn, slice_of("a")), -EROFS);
	return store_put(txn, slice_of("a"), slice_of("b"));
}

static int nest_fn(struct store_txn *txn, void *arg)
{
	(void)txn;
	assert_int_equal(store_view(arg, dump_fn, NULL), -EDEADLK);
	return store_update(arg, fill_fn, NULL);
}

static void views_do_not_write_and_functions_do_not_nest(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_view(f->store, write_fn, NULL), -EROFS);
	assert_int_equal(store_update(f->store, nest_fn, f->store), -EDEADLK);
	assert_int_equal(store_view(f->store, nest_fn, f->store), -EDEADLK);
	assert_holds(f->store, "", "");
}

/* An engine whose reads fail: a function that overlooks that must not commit. */
static int broken_get(void *view, struct slice key, struct slice *value)
{
	(void)view;
	(void)key;
	(void)value;
	return -EUCLEAN;
}

static int careless_fn(struct store_txn *txn, void *arg)
{
	struct slice value;

	(void)arg;
	(void)store_get(txn, slice_of("a"), &value);
	return 0;
}

static void an_overlooked_read_error_fails_the_function(void **state)
{
	struct txn_source broken = mem_source;

	(void)state;
	broken.get = broken_get;
	struct store_txn *txn = txn_new(&broken, false);
	assert_non_null(txn);
	assert_int_equal(txn_run(txn, NULL, careless_fn, NULL), -EUCLEAN);
	txn_free(txn);
}

static unsigned int searches;

static int counting_next(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	searches++;
	return mem_source.next(view, from, prefix, key, value);
}

/* Removes what is below "b" and looks for what is below "a" and "c": nothing. */
static int beyond_fn(struct store_txn *txn, void *arg)
{
	struct slice key;

	(void)arg;
	for (char name[] = "b0"; name[1] <= '9'; name[1]++)
		assert_int_equal(store_del(txn, slice_of(name)), 0);
	searches = 0;
	assert_int_equal(store_next(txn, slice_of("a"), slice_of("a"), &key, NULL), 1);
	assert_int_equal(store_next(txn, slice_of("b9x"), slice_of("b9"), &key, NULL), 1);
	put(txn, "d", "1");
	assert_int_equal(store_next(txn, slice_of("c"), slice_of("c"), &key, NULL), 1);
	return 0;
}

static int ten_fn(struct store_txn *txn, void *arg)
{
	(void)arg;
	for (char name[] = "b0"; name[1] <= '9'; name[1]++)
		put(txn, name, "1");
	return 0;
}

static void a_search_looks_at_nothing_beyond_its_prefix(void **state)
{
	struct fixture *f = *state;
	struct txn_source counting = mem_source;

	assert_int_equal(store_update(f->store, ten_fn, NULL), 0);
	counting.next = counting_next;
	struct store_txn *txn = txn_new(&counting, false);
	assert_non_null(txn);
	assert_int_equal(txn_run(txn, f->world, beyond_fn, NULL), 0);
	assert_int_equal(searches, 3);
	txn_free(txn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keys_come_in_order_and_below_their_prefix, setup, teardown),
		cmocka_unit_test_setup_teardown(a_function_sees_its_own_writes_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(a_key_is_dropped_whether_it_is_there_or_not, setup, teardown),
		cmocka_unit_test_setup_teardown(removals_side_by_side_are_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failing_function_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_read_stays_while_the_function_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(lengths_are_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(views_do_not_write_and_functions_do_not_nest, setup, teardown),
		cmocka_unit_test(an_overlooked_read_error_fails_the_function),
		cmocka_unit_test_setup_teardown(a_search_looks_at_nothing_beyond_its_prefix, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
