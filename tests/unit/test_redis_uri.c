/* The address of a Redis is read in every form, and no complaint about one repeats its password. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis_uri.h"

static void addresses_are_read(void **state)
{
	static const struct {
		const char *text;
		struct redis_uri is;
	} cases[] = {
		{ "redis://localhost", { .host = "localhost", .port = 6379 } },
		{ "redis://localhost/", { .host = "localhost", .port = 6379 } },
		{ "redis://10.0.0.1:6380/3", { .host = "10.0.0.1", .port = 6380, .db = 3 } },
		{ "redis://:s3cret@h:1/0", { .host = "h", .port = 1, .password = "s3cret" } },
		{ "redis://bob:a%2Fb%40c%25@h", { .host = "h", .port = 6379, .user = "bob", .password = "a/b@c%" } },
		{ "redis://bob:p@ss@h", { .host = "h", .port = 6379, .user = "bob", .password = "p@ss" } },
		{ "redis://[::1]:7000/1", { .host = "::1", .port = 7000, .db = 1 } },
		{ "redis://[::1]", { .host = "::1", .port = 6379 } },
	};

	(void)state;
	unsetenv("ATLOCK_REDIS_PASSWORD");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct redis_uri uri;
		char error[256];

		if (redis_uri_parse(cases[i].text, &uri, error, sizeof(error)) != 0)
			fail_msg("%s: %s", cases[i].text, error);
		assert_string_equal(uri.host, cases[i].is.host);
		assert_string_equal(uri.user, cases[i].is.user);
		assert_string_equal(uri.password, cases[i].is.password);
		assert_int_equal(uri.port, cases[i].is.port);
		assert_int_equal(uri.db, cases[i].is.db);
	}
}

static void bad_addresses_are_refused_without_their_password(void **state)
{
	static const char *const cases[] = {
		"redis://",
		"redis:///1",
		"redis://:s3cret@",
		"redis://:s3cret@h:0",
		"redis://h:65536",
		"redis://h/x",
		"redis://h/-1",
		"redis://s3cret@h/1/2",
		"redis://[::1",
		"redis://[::1]x",
		"http://s3cret@h",
		"redis://:%00s3cret@h",
		"redis://u:s3cret@h:port",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct redis_uri uri;
		char error[256] = "";

		assert_int_equal(redis_uri_parse(cases[i], &uri, error, sizeof(error)), -EINVAL);
		assert_non_null(strstr(error, "redis://["));
		assert_null(strstr(error, "s3cret"));
		assert_int_equal(uri.password[0], '\0');
	}
}

static void password_may_come_from_the_environment(void **state)
{
	struct redis_uri uri;
	char error[256];

	(void)state;
	setenv("ATLOCK_REDIS_PASSWORD", "from-env", 1);
	assert_int_equal(redis_uri_parse("redis://h", &uri, error, sizeof(error)), 0);
	assert_string_equal(uri.password, "from-env");
	assert_int_equal(redis_uri_parse("redis://:other@h", &uri, error, sizeof(error)), 0);
	assert_string_equal(uri.password, "other");
	unsetenv("ATLOCK_REDIS_PASSWORD");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read),
		cmocka_unit_test(bad_addresses_are_refused_without_their_password),
		cmocka_unit_test(password_may_come_from_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
