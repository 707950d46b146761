/* The address of a realm is read in every form; a password is read from where others cannot see it, and never repeated. */
#include "redis_address.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void addresses_are_read(void **state)
{
	static const struct {
		const char *text;
		struct redis_address is;
	} cases[] = {
		{ "redis://h?realm=ci", { .nodes = { { "h", 6379 } }, .node_count = 1, .realm = "ci" } },
		{ "redis://bob@10.0.0.1:7000/3?realm=ci&history=2000",
		  { .nodes = { { "10.0.0.1", 7000 } },
		    .node_count = 1,
		    .realm = "ci",
		    .user = "bob",
		    .db = 3,
		    .history = 2000 } },
		{ "redis://[::1]:7000,b,c:7002/?realm=a-b_C",
		  { .nodes = { { "::1", 7000 }, { "b", 6379 }, { "c", 7002 } }, .node_count = 3, .realm = "a-b_C" } },
		{ "redis+sentinel://s1,s2:26380/mymaster/2?realm=ci",
		  { .nodes = { { "s1", 26379 }, { "s2", 26380 } },
		    .node_count = 2,
		    .realm = "ci",
		    .master = "mymaster",
		    .db = 2 } },
		{ "redis+sentinel://s1/m?realm=ci",
		  { .nodes = { { "s1", 26379 } }, .node_count = 1, .realm = "ci", .master = "m" } },
	};

	(void)state;
	unsetenv("ATLOCK_REDIS_PASSWORD");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct redis_address *is = &cases[i].is;
		struct redis_address address;
		char why[256];

		if (redis_address_parse(cases[i].text, &address, why, sizeof(why)) != 0)
			fail_msg("%s: %s", cases[i].text, why);
		assert_true(redis_address_is(cases[i].text));
		assert_int_equal(address.node_count, is->node_count);
		for (size_t j = 0; j < is->node_count; j++) {
			assert_string_equal(address.nodes[j].host, is->nodes[j].host);
			assert_int_equal(address.nodes[j].port, is->nodes[j].port);
		}
		assert_string_equal(address.realm, is->realm);
		assert_string_equal(address.master, is->master);
		assert_string_equal(address.user, is->user);
		assert_int_equal(address.db, is->db);
		assert_int_equal(address.history, is->history != 0 ? is->history : REDIS_HISTORY);
		assert_int_equal(address.password[0], '\0');
	}
}

static void bad_addresses_are_refused_with_what_to_write(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{ "redis://h", "which realm?" },
		{ "redis://h?realm=", "letters" },
		{ "redis://h?realm=a{b}", "letters" },
		{ "redis://h?realm=ci&color=red", "no parameter" },
		{ "redis://h?realm", "name=value" },
		{ "redis://h?realm=ci&history=7", "at least 1000" },
		{ "redis://?realm=ci", "redis://[user@]host" },
		{ "redis://h:0?realm=ci", "redis://[user@]host" },
		{ "redis://h,?realm=ci", "redis://[user@]host" },
		{ "redis://h/x?realm=ci", "redis://[user@]host" },
		{ "redis+sentinel://h?realm=ci", "/MASTER" },
		{ "redis+sentinel://h//0?realm=ci", "/MASTER" },
		{ "redis://bob:s3cret@h?realm=ci", "password_file" },
		{ "redis://:s3cret@h?realm=ci", "ATLOCK_REDIS_PASSWORD" },
		{ "redis://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17?realm=ci", "at most 16" },
		{ "http://h?realm=ci", "redis://[user@]host" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct redis_address address;
		char why[256] = "";

		assert_int_equal(redis_address_parse(cases[i].text, &address, why, sizeof(why)), -EINVAL);
		if (strstr(why, cases[i].says) == NULL)
			fail_msg("%s: %s", cases[i].text, why);
		assert_null(strstr(why, "s3cret"));
	}
}

static void file_write(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void passwords_come_from_a_file_or_the_environment(void **state)
{
	char *dir = scratch_new();
	struct redis_address address;
	char path[512];
	char text[1024];
	char why[1024];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/password", dir);
	(void)snprintf(text, sizeof(text), "redis://h?realm=ci&password_file=%s", path);
	setenv("ATLOCK_REDIS_PASSWORD", "from-env", 1);
	assert_int_equal(redis_address_parse("redis://h?realm=ci", &address, why, sizeof(why)), 0);
	assert_string_equal(address.password, "from-env");
	assert_int_equal(redis_address_parse(text, &address, why, sizeof(why)), -ENOENT);
	file_write(path, "s3cret\nsecond line\n", 0640);
	assert_int_equal(redis_address_parse(text, &address, why, sizeof(why)), 0);
	assert_string_equal(address.password, "s3cret");
	file_write(path, "s3cret\n", 0644);
	assert_int_equal(redis_address_parse(text, &address, why, sizeof(why)), -EACCES);
	assert_non_null(strstr(why, "chmod 600"));
	assert_null(strstr(why, "s3cret"));
	file_write(path, "\n", 0600);
	assert_int_equal(redis_address_parse(text, &address, why, sizeof(why)), -EINVAL);
	unsetenv("ATLOCK_REDIS_PASSWORD");
	scratch_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read),
		cmocka_unit_test(bad_addresses_are_refused_with_what_to_write),
		cmocka_unit_test(passwords_come_from_a_file_or_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
