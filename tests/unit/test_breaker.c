#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "breaker.h"

static const struct breaker_limits limits = { .failures = 3, .pause = 1000, .pause_max = 3000 };

/* With a quarter of 250 this draws the pause itself. */
#define MIDDLE 250

static struct breaker opened_at(int64_t now)
{
	struct breaker breaker;

	breaker_init(&breaker, &limits);
	for (unsigned int i = 0; i < limits.failures; i++) {
		assert_true(breaker_admit(&breaker, now));
		breaker_done(&breaker, false, now, MIDDLE);
	}
	assert_int_equal(breaker.state, BREAKER_OPEN);
	return breaker;
}

static void opens_after_failures_in_a_row(void **state)
{
	struct breaker breaker;

	(void)state;
	breaker_init(&breaker, &limits);
	breaker_done(&breaker, false, 0, 0);
	breaker_done(&breaker, false, 0, 0);
	breaker_done(&breaker, true, 0, 0);
	breaker_done(&breaker, false, 0, 0);
	breaker_done(&breaker, false, 0, 0);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
	assert_true(breaker_admit(&breaker, 0));
	breaker_done(&breaker, false, 0, 0);
	assert_int_equal(breaker.state, BREAKER_OPEN);
	assert_int_equal(breaker.opened, 1);
	assert_false(breaker_admit(&breaker, 0));
}

static void lets_one_try_after_the_pause(void **state)
{
	struct breaker breaker = opened_at(100);

	(void)state;
	assert_false(breaker_admit(&breaker, 1099));
	assert_true(breaker_admit(&breaker, 1100));
	assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
	assert_false(breaker_admit(&breaker, 1100));
	breaker_done(&breaker, true, 1200, 0);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
	assert_true(breaker_admit(&breaker, 1200));
}

static void waits_twice_as_long_after_each_try_up_to_the_most(void **state)
{
	struct breaker breaker = opened_at(0);

	(void)state;
	assert_int_equal(breaker.until, 1000);
	assert_true(breaker_admit(&breaker, 1000));
	breaker_done(&breaker, false, 1000, 500);
	assert_int_equal(breaker.until, 3000);
	assert_true(breaker_admit(&breaker, 3000));
	breaker_done(&breaker, false, 3000, 750);
	assert_int_equal(breaker.until, 6000);
	assert_true(breaker_admit(&breaker, 6000));
	breaker_done(&breaker, true, 6000, 0);
	for (unsigned int i = 0; i < limits.failures; i++)
		breaker_done(&breaker, false, 6000, MIDDLE);
	assert_int_equal(breaker.until, 7000);
	assert_int_equal(breaker.opened, 4);
}

static void late_answers_say_nothing(void **state)
{
	struct breaker breaker = opened_at(0);

	(void)state;
	breaker_done(&breaker, true, 1, 0);
	assert_int_equal(breaker.state, BREAKER_OPEN);
	breaker_done(&breaker, false, 1, 0);
	assert_int_equal(breaker.opened, 1);
}

static void pause_varies_by_a_quarter(void **state)
{
	(void)state;
	for (uint64_t random = 0; random < 3000; random++) {
		int64_t pause = 1000;
		int64_t now = breaker_backoff(&pause, 10000, random);

		assert_in_range(now, 750, 1250);
		assert_int_equal(pause, 2000);
	}
}

static void huge_pauses_do_not_overflow(void **state)
{
	int64_t pause = INT64_MAX / 2;

	(void)state;
	assert_true(breaker_backoff(&pause, INT64_MAX / 2, UINT64_MAX) > 0);
	assert_true(pause == INT64_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_after_failures_in_a_row),
		cmocka_unit_test(lets_one_try_after_the_pause),
		cmocka_unit_test(waits_twice_as_long_after_each_try_up_to_the_most),
		cmocka_unit_test(late_answers_say_nothing),
		cmocka_unit_test(pause_varies_by_a_quarter),
		cmocka_unit_test(huge_pauses_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
