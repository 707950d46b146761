/* Durations and options: what is read, what is refused, and that what is printed can be read again. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "atlock.h"

#define MS INT64_C(1000000)
#define S ATLOCK_SECOND
#define M (60 * S)
#define H (60 * M)
#define D (24 * H)

static void durations_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "90s", 90 * S },
		{ "15m", 15 * M },
		{ "2h", 2 * H },
		{ "7d", 7 * D },
		{ "250ms", 250 * MS },
		{ "1h30m", 90 * M },
		{ "1d1s", D + S },
		{ "007s", 7 * S },
		{ "1s500ms", 1500 * MS },
		{ "1m90s", 150 * S },
		{ "1us", 1000 },
		{ "1ns", 1 },
		{ "106751d", 106751 * D },
		{ "9223372036854775806ns", INT64_MAX - 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = -1;

		assert_int_equal(atlock_duration_parse(cases[i].text, false, &value), 0);
		assert_true(value == cases[i].value);
	}
}

static void bad_durations_are_refused(void **state)
{
	static const struct {
		const char *text;
		int err;
	} cases[] = {
		{ "", -EINVAL },
		{ "90", -EINVAL },
		{ "1", -EINVAL },
		{ "00", -EINVAL },
		{ "s", -EINVAL },
		{ "-5s", -EINVAL },
		{ "+5s", -EINVAL },
		{ " 5s", -EINVAL },
		{ "5s ", -EINVAL },
		{ "5 s", -EINVAL },
		{ "5s\n", -EINVAL },
		{ "1.5h", -EINVAL },
		{ "5S", -EINVAL },
		{ "5w", -EINVAL },
		{ "5sec", -EINVAL },
		{ "30m1h", -EINVAL },
		{ "5m5m", -EINVAL },
		{ "1h30", -EINVAL },
		{ "never", -EINVAL },
		{ "Never", -EINVAL },
		{ "neverr", -EINVAL },
		{ "1e3s", -EINVAL },
		{ "0x10s", -EINVAL },
		{ "106752d", -ERANGE },
		{ "9223372036854775807ns", -ERANGE },
		{ "99999999999999999999999999999999d", -ERANGE },
		{ "18446744073709551615ns", -ERANGE },
		{ "106751d24h", -ERANGE },
		{ "99999999999999999999d5", -EINVAL },
	};
	int64_t value = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (atlock_duration_parse(cases[i].text, false, &value) != cases[i].err)
			fail_msg("\"%s\"", cases[i].text);
	assert_int_equal(atlock_duration_parse(NULL, true, &value), -EINVAL);
	assert_int_equal(atlock_duration_parse("1s", true, NULL), -EINVAL);
	assert_true(value == 42);
	assert_int_equal(atlock_duration_parse("never", true, &value), 0);
	assert_true(value == ATLOCK_NEVER);
}

static void durations_are_printed_short_and_exact(void **state)
{
	static const struct {
		int64_t value;
		const char *text;
	} cases[] = {
		{ 0, "0" },          { ATLOCK_NEVER, "never" },
		{ 60 * S, "1m" },    { 90 * S, "90s" },
		{ 30 * M, "30m" },   { 90 * M, "90m" },
		{ 2 * H, "2h" },     { 36 * H, "36h" },
		{ 30 * D, "30d" },   { 250 * MS, "250ms" },
		{ D + S, "1d1s" },   { 1, "1ns" },
		{ -90 * S, "-90s" }, { INT64_MIN, "-9223372036854775808ns" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		atlock_duration_print(cases[i].value, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
	atlock_duration_print(90 * S, text, 3);
	assert_string_equal(text, "90");
	atlock_duration_print(90 * S, text, 0);
	atlock_duration_print(90 * S, NULL, 10);
}

static void printed_durations_are_read_back(void **state)
{
	uint64_t rng = 88172645463325252u;
	char text[64];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		int64_t value;
		int64_t back = -1;

		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		value = (int64_t)(rng >> (1 + (unsigned int)i % 62));
		if (i % 3 == 0)
			value -= value % S;
		atlock_duration_print(value, text, sizeof(text));
		assert_int_equal(atlock_duration_parse(text, true, &back), 0);
		assert_true(back == value);
	}
}

static void defaults_are_as_documented(void **state)
{
	static const struct {
		const char *name;
		const char *value;
	} defaults[] = {
		{ "default_ttl", "30m" },
		{ "max_ttl", "2h" },
		{ "queue_timeout", "10m" },
		{ "max_queue", "1000" },
		{ "claim_timeout", "1m" },
		{ "status_ttl", "1m" },
		{ "host_timeout", "15s" },
		{ "lost_signal", "term" },
		{ "engine_timeout", "5s" },
		{ "engine_failures", "1" },
		{ "engine_pause", "1s" },
		{ "lock_delay", "0" },
		{ "deadlock_policy", "lifo" },
		{ "deadlock_interval", "30s" },
		{ "sync", "commit" },
		{ "identity", "session" },
		{ "admin_group", "" },
		{ "pull_users", "" },
		{ "owners_group", "" },
		{ "owners_interval", "1h" },
		{ "admin_rm", "named" },
		{ "policy", "" },
		{ "max_locks_per_user", "50000" },
		{ "rate_limit", "5000" },
		{ "events_keep", "30d" },
		{ "events_refused", "10" },
		{ "disable_apply", "off" },
		{ "store", "" },
		{ "key_file", "" },
		{ "old_key_file", "" },
		{ "log", "auto" },
		{ "log_level", "info" },
		{ "on_event", "" },
		{ "on_event_timeout", "10s" },
		{ "on_event_failures", "5" },
		{ "on_event_pause", "1s" },
		{ "max_waiters_per_user", "10000" },
		{ "queue_share", "25" },
		{ "store_share", "25" },
		{ "max_dirs", "1000000" },
		{ "dirs_share", "25" },
	};
	struct atlock_options o;
	char text[256];
	size_t n = 0;

	(void)state;
	atlock_options_init(&o);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
		assert_int_equal(atlock_option_get(&o, defaults[i].name, text, sizeof(text)), 0);
		assert_string_equal(text, defaults[i].value);
	}
	while (atlock_option_name(n, NULL))
		n++;
	assert_int_equal(n, sizeof(defaults) / sizeof(defaults[0]));
	assert_true(o.default_ttl == 30 * M);
	assert_true(o.max_queue == 1000);
	assert_int_equal(atlock_options_check(&o, NULL), 0);
}

static void options_are_set_and_printed(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		const char *printed;
	} cases[] = {
		{ "default_ttl", "1s", "1s" },
		{ "default_ttl", "3600s", "1h" },
		{ "default_ttl", "365d", "365d" },
		{ "max_ttl", "3650d", "3650d" },
		{ "queue_timeout", "never", "never" },
		{ "max_queue", "1", "1" },
		{ "max_queue", "1000000", "1000000" },
		{ "lock_delay", "0", "0" },
		{ "lock_delay", "15s", "15s" },
		{ "deadlock_policy", "fifo", "fifo" },
		{ "deadlock_policy", "lowest_priority", "lowest_priority" },
		{ "deadlock_policy", "random", "random" },
		{ "deadlock_policy", "off", "off" },
		{ "sync", "off", "off" },
		{ "identity", "user", "user" },
		{ "max_locks_per_user", "50", "50" },
		{ "max_locks_per_user", "", "0" },
		{ "rate_limit", "", "0" },
		{ "disable_apply", "on", "on" },
		{ "disable_apply", "off", "off" },
		{ "disable_apply", NULL, "on" },
		{ "admin_group", "wheel", "wheel" },
		{ "policy", "/etc/atlockfs/policy", "/etc/atlockfs/policy" },
		{ "store", "", "" },
	};
	struct atlock_options o;

	(void)state;
	atlock_options_init(&o);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct atlock_why why = { 0 };
		struct atlock_options copy;
		char text[256];

		if (atlock_option_set(&o, cases[i].name, cases[i].value, &why))
			fail_msg("%s: %s", cases[i].name, why.text);
		assert_int_equal(atlock_option_get(&o, cases[i].name, text, sizeof(text)), 0);
		assert_string_equal(text, cases[i].printed);
		copy = o;
		assert_int_equal(atlock_option_set(&copy, cases[i].name, text, NULL), 0);
		assert_memory_equal(&copy, &o, sizeof(o));
	}
}

static void bad_values_are_refused_with_what_would_do(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		int err;
		const char *says;
	} cases[] = {
		{ "default_ttl", "90", -EINVAL, "90s" },
		{ "default_ttl", "", -EINVAL, "15m" },
		{ "default_ttl", "-1s", -EINVAL, "15m" },
		{ "default_ttl", "0", -ERANGE, "1s to 365d" },
		{ "default_ttl", "999ms", -ERANGE, "1s to 365d" },
		{ "default_ttl", "366d", -ERANGE, "1s to 365d" },
		{ "default_ttl", "99999999999999d", -ERANGE, "1s to 365d" },
		{ "default_ttl", "never", -EINVAL, "end" },
		{ "default_ttl", NULL, -EINVAL, "needs a value" },
		{ "queue_timeout", "0", -ERANGE, "never" },
		{ "max_queue", "0", -ERANGE, "1 to 1000000" },
		{ "max_queue", "1000001", -ERANGE, "1 to 1000000" },
		{ "max_queue", "99999999999999999999999", -ERANGE, "1 to 1000000" },
		{ "max_queue", "-1", -EINVAL, "number" },
		{ "max_queue", " 1", -EINVAL, "number" },
		{ "max_queue", "1k", -EINVAL, "number" },
		{ "max_queue", "", -EINVAL, "number" },
		{ "lock_delay", "61m", -ERANGE, "0 to 1h" },
		{ "events_keep", "23h", -ERANGE, "1d to 3650d" },
		{ "deadlock_policy", "LIFO", -EINVAL, "lifo fifo lowest_priority random off" },
		{ "deadlock_policy", "", -EINVAL, "lifo" },
		{ "sync", "yes", -EINVAL, "commit off" },
		{ "identity", "root", -EINVAL, "session user" },
		{ "disable_apply", "maybe", -EINVAL, "off on" },
		{ "disable_apply", "", -EINVAL, "off on" },
		{ "admin_group", "a\nb", -EINVAL, "control" },
		{ "admin_group", NULL, -EINVAL, "needs a value" },
		{ "admin_group", "0123456789012345678901234567890123456789012345678901234567890123", -ENAMETOOLONG,
		  "63" },
		{ "default-ttl", "1h", -ENOENT, "default_ttl" },
		{ "max_tll", "1h", -ENOENT, "max_ttl" },
		{ "deadlock_polcy", "x", -ENOENT, "deadlock_policy" },
		{ "Store", "x", -ENOENT, "did you mean store?" },
		{ "snyc", "x", -ENOENT, "did you mean sync?" },
		{ "colour", "x", -ENOENT, "no option \"colour\"" },
		{ "", "x", -ENOENT, "no option" },
		{ "a\nb", "x", -ENOENT, "no option" },
	};
	struct atlock_options o;
	struct atlock_options before;

	(void)state;
	atlock_options_init(&o);
	before = o;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct atlock_why why = { 0 };

		assert_int_equal(atlock_option_set(&o, cases[i].name, cases[i].value, &why), cases[i].err);
		assert_int_equal(why.code, ATLOCK_INVALID_REQUEST);
		assert_null(strchr(why.text, '\n'));
		if (!strstr(why.text, cases[i].says))
			fail_msg("\"%s\" does not say \"%s\"", why.text, cases[i].says);
		assert_memory_equal(&o, &before, sizeof(o));
	}
}

static void a_far_off_name_gets_no_suggestion(void **state)
{
	struct atlock_options o;
	struct atlock_why why;
	char large[5000];

	(void)state;
	atlock_options_init(&o);
	assert_int_equal(atlock_option_set(&o, "colour_of_the_door", "x", &why), -ENOENT);
	assert_null(strstr(why.text, "did you mean"));
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(atlock_option_set(&o, large, large, &why), -ENOENT);
	assert_int_equal(atlock_option_set(&o, "sync", large, &why), -EINVAL);
	assert_int_equal(atlock_option_set(&o, "store", large, &why), -ENAMETOOLONG);
}

static void every_option_has_help(void **state)
{
	const char *help = NULL;

	(void)state;
	for (size_t i = 0; atlock_option_name(i, &help); i++) {
		assert_non_null(help);
		assert_true(strlen(help) > 10 && strlen(help) < 110);
	}
	assert_null(atlock_option_name(SIZE_MAX, &help));
}

static void usage_shows_default_and_range(void **state)
{
	static const char *const expected[] = {
		"default_ttl=30m (1s to 365d)",  "queue_timeout=10m (1s to 365d, never, auto)",
		"max_queue=1000 (1 to 1000000)", "sync=commit (commit off)",
		"disable_apply=off (off on)",    "admin_group=",
	};
	char usage[128];
	size_t found = 0;

	(void)state;
	for (size_t i = 0; atlock_option_name(i, NULL); i++) {
		if (!atlock_option_usage(i, usage, sizeof(usage)))
			continue;
		for (size_t j = 0; j < sizeof(expected) / sizeof(expected[0]); j++)
			found += strcmp(usage, expected[j]) == 0;
	}
	assert_int_equal(found, sizeof(expected) / sizeof(expected[0]));
	assert_false(atlock_option_usage(SIZE_MAX, usage, sizeof(usage)));
}

static void options_are_checked_against_each_other(void **state)
{
	struct atlock_options o;
	struct atlock_why why;

	(void)state;
	atlock_options_init(&o);
	assert_int_equal(atlock_option_set(&o, "default_ttl", "3h", NULL), 0);
	assert_int_equal(atlock_options_check(&o, &why), -EINVAL);
	assert_non_null(strstr(why.text, "max_ttl"));
	assert_non_null(strstr(why.text, "2h"));
	assert_int_equal(atlock_option_set(&o, "max_ttl", "3h", NULL), 0);
	assert_int_equal(atlock_options_check(&o, &why), 0);
	o.deadlock_policy = 17;
	assert_int_equal(atlock_options_check(&o, &why), -ERANGE);
	atlock_options_init(&o);
	o.claim_timeout = -1;
	assert_int_equal(atlock_options_check(&o, &why), -ERANGE);
	atlock_options_init(&o);
	memset(o.store, 'x', sizeof(o.store));
	assert_int_equal(atlock_options_check(&o, &why), -ENAMETOOLONG);
	assert_int_equal(atlock_options_check(NULL, &why), -EINVAL);
}

static void nothing_given_is_an_error(void **state)
{
	struct atlock_options o;
	char text[4];

	(void)state;
	atlock_options_init(NULL);
	atlock_options_init(&o);
	assert_int_equal(atlock_option_set(NULL, "sync", "off", NULL), -EINVAL);
	assert_int_equal(atlock_option_set(&o, NULL, "off", NULL), -EINVAL);
	assert_int_equal(atlock_option_get(NULL, "sync", text, sizeof(text)), -EINVAL);
	assert_int_equal(atlock_option_get(&o, NULL, text, sizeof(text)), -ENOENT);
	assert_int_equal(atlock_option_get(&o, "no", text, sizeof(text)), -ENOENT);
	assert_int_equal(atlock_option_get(&o, "sync", NULL, 0), -EINVAL);
	assert_int_equal(atlock_option_get(&o, "sync", text, sizeof(text)), -ERANGE);
	memset(o.store, 'x', sizeof(o.store));
	assert_int_equal(atlock_option_get(&o, "store", text, sizeof(text)), -ERANGE);
	o.sync = -5;
	assert_int_equal(atlock_option_get(&o, "sync", text, sizeof(text)), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(bad_durations_are_refused),
		cmocka_unit_test(durations_are_printed_short_and_exact),
		cmocka_unit_test(printed_durations_are_read_back),
		cmocka_unit_test(defaults_are_as_documented),
		cmocka_unit_test(options_are_set_and_printed),
		cmocka_unit_test(bad_values_are_refused_with_what_would_do),
		cmocka_unit_test(a_far_off_name_gets_no_suggestion),
		cmocka_unit_test(every_option_has_help),
		cmocka_unit_test(usage_shows_default_and_range),
		cmocka_unit_test(options_are_checked_against_each_other),
		cmocka_unit_test(nothing_given_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
