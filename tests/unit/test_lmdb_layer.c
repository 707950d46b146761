/*
 * Layers: whatever keys come in whatever order, each is found where it is, and one that is not there where it would be.
 */
#include "lmdb_engine.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_one_table_are_found),
		cmocka_unit_test(keys_of_several_tables_are_found),
		cmocka_unit_test(keys_of_more_tables_than_are_counted_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
