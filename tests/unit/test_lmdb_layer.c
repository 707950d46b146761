/*
 * Layers: whatever keys come in whatever order, each is found where it is, and one that is not there where it would be.
 */
#include "lmdb_layer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COMMITS 300
#define SET_MAX 8

/* The same in every run. */
static unsigned int dice(unsigned int *state, unsigned int sides)
{
	*state = *state * 1103515245U + 12345U;
	return (*state >> 16) % sides;
}

/* One of a few keys that begin with each of `firsts` bytes. */
static struct slice key_make(unsigned char out[3], unsigned int *state, unsigned int firsts)
{
	out[0] = (unsigned char)(dice(state, firsts) * 251U);
	out[1] = (unsigned char)dice(state, 4);
	out[2] = (unsigned char)dice(state, 4);
	return (struct slice){ out, 1 + dice(state, 3) };
}

static void assert_finds(const struct layer *layer, struct slice key)
{
	bool same;
	bool expected;
	size_t at = layer_find(layer, key, &same);

	assert_int_equal(at, writes_find(&layer->writes, key, &expected));
	assert_int_equal(same, expected);
}

static void assert_is_whole(const struct layer *layer, unsigned int *state, unsigned int firsts)
{
	unsigned char bytes[3];

	for (size_t i = 0; i < layer->writes.count; i++) {
		assert_true(i == 0 || slice_compare(layer->writes.list[i - 1]->key, layer->writes.list[i]->key) < 0);
		assert_finds(layer, layer->writes.list[i]->key);
	}
	for (unsigned int i = 0; i < 64; i++)
		assert_finds(layer, key_make(bytes, state, firsts));
}

/* Adds up to SET_MAX keys to a layer, which it takes. */
static struct layer *commit(struct layer *below, unsigned int *state, unsigned int firsts)
{
	unsigned char bytes[3];
	struct txn_write *list[SET_MAX];
	struct writes set = { .list = list };

	for (unsigned int i = 1 + dice(state, SET_MAX); i > 0; i--) {
		struct slice key = key_make(bytes, state, firsts);
		bool same;
		size_t at = writes_find(&set, key, &same);

		if (same)
			continue;
		memmove(list + at + 1, list + at, (set.count - at) * sizeof(list[0]));
		list[at] = layer_copy_write(below, &(struct txn_write){ .key = key, .value = slice_of("value") });
		assert_non_null(list[at]);
		set.count++;
	}
	struct layer *layer = layer_add(below, &set);
	assert_non_null(layer);
	for (size_t i = 0; i < set.count; i++) {
		bool same;

		(void)layer_find(layer, list[i]->key, &same);
		assert_true(same);
	}
	layer_drop(below);
	return layer;
}

static void keys_are_found(unsigned int firsts)
{
	struct layer *layer = layer_new(1);
	unsigned int state = firsts;

	assert_non_null(layer);
	for (unsigned int i = 0; i < COMMITS; i++) {
		layer = commit(layer, &state, firsts);
		assert_is_whole(layer, &state, firsts);
	}
	layer_drop(layer);
}

static void keys_of_one_table_are_found(void **state)
{
	(void)state;
	keys_are_found(1);
}

static void keys_of_several_tables_are_found(void **state)
{
	(void)state;
	keys_are_found(5);
	keys_are_found(LAYER_RUNS);
}

static void keys_of_more_tables_than_are_counted_are_found(void **state)
{
	(void)state;
	keys_are_found(LAYER_RUNS + 1);
	keys_are_found(256);
}

/* Whether the layer has the very write, not only its key. */
static bool has(const struct layer *layer, const struct txn_write *write)
{
	bool same;
	size_t at = layer_find(layer, write->key, &same);

	return same && layer->writes.list[at] == write;
}

/* As when LMDB is given a layer while commits go on: all that came since is left, and nothing else. */
static void rest_is_right(unsigned int firsts, unsigned int commits, unsigned int *state)
{
	struct layer *under = layer_new(1);
	size_t left = 0;

	assert_non_null(under);
	for (unsigned int i = 0; i < 20; i++)
		under = commit(under, state, firsts);
	struct layer *layer = layer_over(under, 7);
	assert_non_null(layer);
	assert_ptr_not_equal(layer_arena(layer), layer_arena(under));
	assert_int_equal(layer->fresh, 0);
	for (unsigned int i = 0; i < commits; i++)
		layer = commit(layer, state, firsts);
	assert_int_equal(layer->next, 7);
	struct layer *rest = layer_rest(layer);
	assert_non_null(rest);
	assert_is_whole(rest, state, firsts);
	for (size_t i = 0; i < layer->writes.count; i++) {
		const struct txn_write *write = layer->writes.list[i];

		assert_int_equal(has(rest, write), !has(under, write));
		left += has(rest, write);
	}
	assert_int_equal(left, rest->writes.count);
	assert_int_equal(left, layer->fresh);
	assert_int_equal(rest->base, 2);
	assert_null(rest->under);
	assert_int_equal(rest->next, 0);
	layer_drop(under);
	layer_drop(layer);
	/* Nothing of it was in what is gone now. */
	assert_is_whole(rest, state, firsts);
	layer_drop(rest);
}

static void what_lmdb_has_got_is_left_out_and_nothing_else(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (unsigned int commits = 0; commits < 60; commits++) {
		rest_is_right(1, commits, &seed);
		rest_is_right(5, commits, &seed);
		rest_is_right(LAYER_RUNS + 1, commits, &seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_one_table_are_found),
		cmocka_unit_test(keys_of_several_tables_are_found),
		cmocka_unit_test(keys_of_more_tables_than_are_counted_are_found),
		cmocka_unit_test(what_lmdb_has_got_is_left_out_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
