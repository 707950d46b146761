#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "histogram.h"

static void assert_near(uint64_t value, uint64_t wanted)
{
	assert_in_range(value, wanted - wanted / 32, wanted + wanted / 32);
}

static void test_empty_is_zero(void **state)
{
	static const struct histogram none;

	(void)state;
	assert_int_equal(histogram_at(&none, 0.5), 0);
}

static void test_every_length_has_its_place(void **state)
{
	static const uint64_t lengths[] = { 0,      1,          31,
					    32,     33,         63,
					    64,     65,         1000,
					    999999, 1000000007, UINT64_C(1) << 40,
					    12345,  UINT64_MAX, UINT64_MAX / 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct histogram one = { .count = 0 };

		histogram_count(&one, lengths[i]);
		if (lengths[i] < UINT64_MAX)
			assert_near(histogram_at(&one, 0.5), lengths[i]);
		assert_int_equal(histogram_at(&one, 0), histogram_at(&one, 1));
	}
}

static void test_shares(void **state)
{
	static struct histogram all;
	static struct histogram half;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++)
		histogram_count(i % 2 == 0 ? &all : &half, i * 1000);
	histogram_merge(&all, &half);
	assert_int_equal(all.count, 1000);
	assert_near(histogram_at(&all, 0.5), 500000);
	assert_near(histogram_at(&all, 0.9), 900000);
	assert_near(histogram_at(&all, 0.99), 990000);
	assert_near(histogram_at(&all, 1), 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_is_zero),
		cmocka_unit_test(test_every_length_has_its_place),
		cmocka_unit_test(test_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
