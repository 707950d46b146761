/*
 * Layers: whatever keys come in whatever order, each is found, and no other; over a frozen layer, the newest write of each.
 */
#include "layer.h"

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
	size_t at = writes_find(&layer->writes, key, &same);

	assert_ptr_equal(layer_get(layer, key), same ? layer->writes.list[at] : NULL);
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
	for (size_t i = 0; i < set.count; i++)
		assert_ptr_equal(layer_get(layer, list[i]->key), list[i]);
	layer_drop(below);
	return layer;
}

static void keys_are_found(void **state)
{
	for (unsigned int firsts = 1; firsts <= 256; firsts *= 4) {
		struct layer *layer = layer_new(1);
		unsigned int seed = firsts;

		assert_non_null(layer);
		for (unsigned int i = 0; i < COMMITS; i++) {
			layer = commit(layer, &seed, firsts);
			assert_is_whole(layer, &seed, firsts);
		}
		layer_drop(layer);
	}
	(void)state;
}

/* The newest write of a key in two lists, the newer one first. */
static const struct txn_write *newest(const struct writes *active, const struct writes *frozen, struct slice key)
{
	bool same;
	size_t at = writes_find(active, key, &same);

	if (same)
		return active->list[at];
	at = writes_find(frozen, key, &same);
	return same ? frozen->list[at] : NULL;
}

static void assert_has_both(const struct layer *layer, const struct layer *frozen, unsigned int *state,
			    unsigned int firsts)
{
	size_t count = layer_count(layer);
	unsigned char bytes[3];

	assert_int_equal(count, frozen->writes.count + layer->writes.count);
	for (size_t i = 0; i < count; i++) {
		const struct txn_write *write = layer_at(layer, i);

		assert_ptr_equal(write, i < frozen->writes.count ? frozen->writes.list[i]
								 : layer->writes.list[i - frozen->writes.count]);
		assert_ptr_equal(layer_get(layer, write->key), newest(&layer->writes, &frozen->writes, write->key));
	}
	for (unsigned int i = 0; i < 64; i++) {
		struct slice key = key_make(bytes, state, firsts);

		assert_ptr_equal(layer_get(layer, key), newest(&layer->writes, &frozen->writes, key));
	}
}

/* As when the flusher works on a layer while commits go on, and when it is done. */
static void freeze_and_thaw(unsigned int firsts, unsigned int commits, unsigned int *state)
{
	struct layer *frozen = layer_new(1);

	assert_non_null(frozen);
	for (unsigned int i = 0; i < 20; i++)
		frozen = commit(frozen, state, firsts);
	struct layer *layer = layer_freeze(frozen, 7);
	assert_non_null(layer);
	assert_ptr_not_equal(layer_arena(layer), layer_arena(frozen));
	assert_int_equal(layer->writes.count, 0);
	for (unsigned int i = 0; i < commits; i++)
		layer = commit(layer, state, firsts);
	assert_int_equal(layer->base, 1);
	assert_int_equal(layer->next, 7);
	assert_has_both(layer, frozen, state, firsts);
	struct layer *thawed = layer_thaw(layer);
	assert_non_null(thawed);
	assert_int_equal(thawed->writes.count, layer->writes.count);
	for (size_t i = 0; i < layer->writes.count; i++)
		assert_ptr_equal(thawed->writes.list[i], layer->writes.list[i]);
	assert_int_equal(thawed->base, 2);
	assert_null(thawed->frozen);
	assert_int_equal(thawed->next, 0);
	layer_drop(frozen);
	layer_drop(layer);
	/* None of its bytes were in the layers that are gone now. */
	assert_is_whole(thawed, state, firsts);
	layer_drop(thawed);
}

static void a_frozen_layer_is_read_below_the_active_one(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (unsigned int commits = 0; commits < 60; commits++) {
		freeze_and_thaw(1, commits, &seed);
		freeze_and_thaw(5, commits, &seed);
		freeze_and_thaw(33, commits, &seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_found),
		cmocka_unit_test(a_frozen_layer_is_read_below_the_active_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
