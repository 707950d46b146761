/* Keys in order: comparing and finding them, against the plainest way to do both. */
#include "writes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define KEYS 300
#define LONGEST 28

static int sign(int order)
{
	return (order > 0) - (order < 0);
}

static int compare_plainly(struct slice a, struct slice b)
{
	int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

	return order != 0 ? sign(order) : (a.len > b.len) - (a.len < b.len);
}

static uint64_t random_next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Keys begin alike more often than not, as those of one table do. */
static struct slice key_make(uint64_t *random, unsigned char out[LONGEST])
{
	static const unsigned char bytes[] = { 'a', 'a', 'a', 'a', 0, 0x7f, 0x80, 0xff };
	size_t len = 1 + random_next(random) % LONGEST;
	size_t alike = random_next(random) % LONGEST;

	for (size_t i = 0; i < len; i++)
		out[i] = i < alike ? 'a' : bytes[random_next(random) % sizeof(bytes)];
	return (struct slice){ out, len };
}

static void keys_compare_as_bytes_do(void **state)
{
	unsigned char first[LONGEST];
	unsigned char second[LONGEST];
	uint64_t random = 88172645463325252;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct slice a = key_make(&random, first);
		struct slice b = key_make(&random, second);

		assert_int_equal(sign(slice_compare(a, b)), compare_plainly(a, b));
		assert_int_equal(slice_compare(a, a), 0);
	}
	assert_int_equal(slice_compare((struct slice){ NULL, 0 }, (struct slice){ NULL, 0 }), 0);
	assert_int_equal(slice_compare((struct slice){ NULL, 0 }, (struct slice){ "a", 1 }), -1);
}

struct list {
	struct txn_write writes[KEYS];
	struct txn_write *order[KEYS];
	unsigned char bytes[KEYS][LONGEST];
	size_t count;
};

static size_t find_plainly(const struct list *list, struct slice key, bool *same)
{
	size_t i = 0;

	while (i < list->count && compare_plainly(list->order[i]->key, key) < 0)
		i++;
	*same = i < list->count && compare_plainly(list->order[i]->key, key) == 0;
	return i;
}

static void list_add(struct list *list, uint64_t *random)
{
	struct txn_write *write = &list->writes[list->count];
	bool same;
	size_t at;

	write->key = key_make(random, list->bytes[list->count]);
	at = find_plainly(list, write->key, &same);
	if (same)
		return;
	memmove(list->order + at + 1, list->order + at, (list->count - at) * sizeof(list->order[0]));
	list->order[at] = write;
	list->count++;
}

static void every_key_is_found_where_it_belongs(void **state)
{
	static struct list list;
	unsigned char bytes[LONGEST];
	uint64_t random = 362436069362436069;

	(void)state;
	for (int turn = 0; turn < KEYS; turn++) {
		struct writes writes = { .list = list.order, .count = list.count };

		for (size_t i = 0; i < list.count; i++) {
			bool same;

			assert_int_equal(writes_find(&writes, list.order[i]->key, &same), i);
			assert_true(same);
		}
		for (int i = 0; i < 200; i++) {
			struct slice key = key_make(&random, bytes);
			bool same;
			bool expected;
			size_t at = find_plainly(&list, key, &expected);

			assert_int_equal(writes_find(&writes, key, &same), at);
			assert_int_equal(same, expected);
		}
		list_add(&list, &random);
	}
	assert_true(list.count > KEYS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_compare_as_bytes_do),
		cmocka_unit_test(every_key_is_found_where_it_belongs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
