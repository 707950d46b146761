/* Days of UTC: every one of 8,000 years is the next after the one before, and reads as it was printed. */
#include "day.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void every_day_is_as_the_c_library_has_it(void **state)
{
	char got[DAY_TEXT + 1] = "";
	char expected[DAY_TEXT + 1];
	uint32_t again;

	(void)state;
	for (uint32_t day = 0; day <= DAY_MAX; day++) {
		time_t seconds = (time_t)day * 86400;
		struct tm tm;

		/* The slow side is asked about some of them only; all must read back. */
		day_print(day, got);
		assert_true(day_parse(got, &again));
		assert_int_equal(again, day);
		if (day % 17 != 0)
			continue;
		assert_non_null(gmtime_r(&seconds, &tm));
		assert_int_equal(strftime(expected, sizeof(expected), "%Y-%m-%d", &tm), DAY_TEXT);
		assert_string_equal(got, expected);
	}
}

static void what_is_no_day_is_refused(void **state)
{
	static const char *const bad[] = { "",           "2027-01-1",  "2027-02-29", "2027-13-01", "2027-00-10",
					   "2027-01-00", "2027-01-32", "1969-12-31", "2027/01/01", "2o27-01-01",
					   "-027-01-01", "2027-04-31", "2100-02-29", " 2027-01-1" };
	uint32_t day;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(day_parse(bad[i], &day));
	assert_true(day_parse("2000-02-29", &day));
	assert_true(day_parse("2028-02-29.jsonl", &day));
}

static void times_are_rfc_3339(void **state)
{
	static const struct {
		int64_t wall;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ -1, "1970-01-01T00:00:00.000Z" },
		{ 1800000000123999999, "2027-01-15T08:00:00.123Z" },
		{ DAY_NS - 1, "1970-01-01T23:59:59.999Z" },
		{ DAY_NS, "1970-01-02T00:00:00.000Z" },
		{ INT64_MAX, "2262-04-11T23:47:16.854Z" },
	};
	char got[DAY_TIME + 1] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_ptr_equal(day_print_time(cases[i].wall, got), got + DAY_TIME);
		assert_string_equal(got, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_day_is_as_the_c_library_has_it),
		cmocka_unit_test(what_is_no_day_is_refused),
		cmocka_unit_test(times_are_rfc_3339),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
