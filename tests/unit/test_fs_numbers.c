/* Numbers of nodes and open files: found while they are in the table, never again after that, whatever the kernel says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "numbers.h"

#define MANY 10000 /* more than two chunks */

static int setup(void **state)
{
	*state = numbers_new();
	return *state == NULL;
}

static int teardown(void **state)
{
	numbers_free(*state);
	return 0;
}

static void is_found_until_it_is_removed(void **state)
{
	struct numbers *numbers = *state;
	uint32_t slot;
	uint64_t id;
	int thing;

	assert_int_equal(numbers_add(numbers, &thing, &slot), 0);
	id = numbers_id(numbers, slot);
	assert_ptr_equal(numbers_get(numbers, id), &thing);
	numbers_remove(numbers, slot);
	assert_null(numbers_get(numbers, id));
}

static void no_number_comes_twice(void **state)
{
	struct numbers *numbers = *state;
	uint64_t last = 0;
	uint32_t slot;
	int things[2];

	for (int i = 0; i < MANY; i++) {
		assert_int_equal(numbers_add(numbers, &things[i % 2], &slot), 0);
		assert_true(numbers_id(numbers, slot) > last);
		assert_null(numbers_get(numbers, last));
		last = numbers_id(numbers, slot);
		numbers_remove(numbers, slot);
	}
}

static void made_up_numbers_find_nothing(void **state)
{
	struct numbers *numbers = *state;
	uint32_t slot;
	uint64_t id;
	int thing;

	assert_int_equal(numbers_add(numbers, &thing, &slot), 0);
	id = numbers_id(numbers, slot);
	assert_null(numbers_get(numbers, 0));
	assert_null(numbers_get(numbers, 1));
	assert_null(numbers_get(numbers, UINT64_MAX));
	assert_null(numbers_get(numbers, (uint64_t)(uintptr_t)&thing));
	for (unsigned int bit = 0; bit < 64; bit++)
		assert_null(numbers_get(numbers, id ^ UINT64_C(1) << bit));
}

static void many_come_and_go(void **state)
{
	struct numbers *numbers = *state;
	uint32_t *slots = calloc(MANY, sizeof(*slots));
	uint64_t *ids = calloc(MANY, sizeof(*ids));
	char *things = calloc(MANY, 1);

	assert_true(slots != NULL && ids != NULL && things != NULL);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < MANY; i++) {
			assert_int_equal(numbers_add(numbers, &things[i], &slots[i]), 0);
			assert_null(numbers_get(numbers, ids[i]));
			ids[i] = numbers_id(numbers, slots[i]);
		}
		for (size_t i = 0; i < MANY; i++)
			assert_ptr_equal(numbers_get(numbers, ids[i]), &things[i]);
		/* Every second first, so that there are gaps, and then chunks that are empty. */
		for (size_t i = 0; i < MANY; i += 2)
			numbers_remove(numbers, slots[i]);
		for (size_t i = 0; i < MANY; i++)
			assert_ptr_equal(numbers_get(numbers, ids[i]), i % 2 == 0 ? NULL : &things[i]);
		for (size_t i = 1; i < MANY; i += 2)
			numbers_remove(numbers, slots[i]);
	}
	free(slots);
	free(ids);
	free(things);
}

struct reader {
	const struct numbers *numbers;
	uint64_t id;
	const void *thing;
	_Atomic uint64_t newest;
	atomic_bool over;
	bool wrong;
};

/* One that stays is always found; one that comes and goes is found as what it was, or not. */
static void *read_on(void *arg)
{
	struct reader *reader = arg;

	while (!atomic_load(&reader->over)) {
		const char *item = numbers_get(reader->numbers, atomic_load(&reader->newest));

		reader->wrong = reader->wrong || numbers_get(reader->numbers, reader->id) != reader->thing;
		reader->wrong = reader->wrong || (item != NULL && *item != 'x');
	}
	return NULL;
}

static void is_read_while_it_changes(void **state)
{
	static char things[MANY];
	static uint32_t slots[MANY];
	struct numbers *numbers = *state;
	struct reader reader = { .numbers = numbers, .thing = &reader };
	pthread_t thread;
	uint32_t slot;

	for (size_t i = 0; i < MANY; i++)
		things[i] = 'x';
	assert_int_equal(numbers_add(numbers, &reader, &slot), 0);
	reader.id = numbers_id(numbers, slot);
	assert_int_equal(pthread_create(&thread, NULL, read_on, &reader), 0);
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < MANY; i++) {
			assert_int_equal(numbers_add(numbers, &things[i], &slots[i]), 0);
			atomic_store(&reader.newest, numbers_id(numbers, slots[i]));
		}
		for (size_t i = MANY; i-- > 0;)
			numbers_remove(numbers, slots[i]);
	}
	atomic_store(&reader.over, true);
	pthread_join(thread, NULL);
	assert_false(reader.wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_found_until_it_is_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(no_number_comes_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(made_up_numbers_find_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(many_come_and_go, setup, teardown),
		cmocka_unit_test_setup_teardown(is_read_while_it_changes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
