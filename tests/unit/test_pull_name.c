/* Names of pull requests and of their projects, and words for statuses. */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

static struct atlock_pull_name pull_named(const char *path)
{
	struct atlock_pull_name pull;

	assert_int_equal(atlock_pull_parse(path, &pull, NULL), 0);
	return pull;
}

static void names_have_one_spelling(void **state)
{
	static const struct {
		const char *path;
		int ret;
	} cases[] = {
		{ "pulls", 1 },
		{ "pulls/github.com", 1 },
		{ "pulls/github.com/acme", 1 },
		{ "pulls/github.com/acme/-", 1 },
		{ "pulls/github.com/acme/-/1", 0 },
		{ "pulls/github.com:8443/a/b/c/d/-/18446", 0 },
		{ "pulls/h/%2D/-/1", 0 },
		{ "pulls/-", -EINVAL },
		{ "pulls/h/-", -EINVAL },
		{ "pulls/h/-/1", -EINVAL },
		{ "pulls/h/r/-/0", -EINVAL },
		{ "pulls/h/r/-/01", -EINVAL },
		{ "pulls/h/r/-/1/x", -EINVAL },
		{ "pulls/h/r/-/-", -EINVAL },
		{ "pulls/h/a%2Fb/-/1", -EINVAL },
		{ "pulls/h/%41/-/1", -EINVAL },
		{ "pullsx/h", -EINVAL },
		{ "repos/a/-/1", -EINVAL },
	};
	struct atlock_pull_name pull;
	struct atlock_why why;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (atlock_pull_parse(cases[i].path, &pull, &why) != cases[i].ret)
			fail_msg("%s: %d", cases[i].path, atlock_pull_parse(cases[i].path, &pull, &why));
	assert_int_equal(atlock_pull_parse(NULL, &pull, &why), -EINVAL);
	assert_int_equal(atlock_pull_parse("pulls", NULL, &why), -EINVAL);
}

static void names_come_apart_and_together(void **state)
{
	struct atlock_pull pull = { .host = "a%b", .repo = "My Org/-/x%y", .num = 7 };
	struct atlock_pull_name name;
	struct atlock_pull back;
	char path[ATLOCK_PATH_MAX];

	(void)state;
	assert_int_equal(atlock_pull_join(&pull, &name, NULL), 0);
	assert_int_equal(atlock_pull_print(&name, path, sizeof(path)), 0);
	assert_string_equal(path, "pulls/a%25b/My Org/%2D/x%25y/-/7");
	assert_int_equal(atlock_pull_print(&name, path, 5), -ERANGE);
	assert_int_equal(atlock_pull_split(&name, &back), 0);
	assert_string_equal(back.host, pull.host);
	assert_string_equal(back.repo, pull.repo);
	assert_int_equal(back.num, 7);
	pull.num = 0;
	assert_int_equal(atlock_pull_join(&pull, &name, NULL), -EINVAL);
	pull = (struct atlock_pull){ .host = "", .repo = "r", .num = 1 };
	assert_int_equal(atlock_pull_join(&pull, &name, NULL), -EINVAL);
	pull = (struct atlock_pull){ .host = "h", .repo = "a//b", .num = 1 };
	assert_int_equal(atlock_pull_join(&pull, &name, NULL), -EINVAL);
	pull = (struct atlock_pull){ .host = "a/b", .repo = "r", .num = 1 };
	assert_int_equal(atlock_pull_join(&pull, &name, NULL), 0);
	assert_int_equal(atlock_pull_split(&name, &back), 0);
}

static void statuses_have_words(void **state)
{
	enum atlock_project_status status;

	(void)state;
	for (unsigned int i = 0; i < ATLOCK_PROJECT_STATUSES; i++) {
		assert_int_equal(
			atlock_project_status_parse(atlock_project_status_name((enum atlock_project_status)i), &status),
			0);
		assert_int_equal(status, i);
	}
	assert_string_equal(atlock_project_status_name(ATLOCK_PROJECT_STATUSES), "unknown");
	assert_int_equal(atlock_project_status_parse("Planned", &status), -EINVAL);
	assert_int_equal(atlock_project_status_parse(NULL, &status), -EINVAL);
}

/* A lock may have that name, but with the host in front there is no room for it. */
static void a_long_host_leaves_less_room_for_projects(void **state)
{
	char path[ATLOCK_PATH_MAX] = "pulls/";
	struct atlock_pull_name pull;
	struct atlock_name project;
	struct atlock_why why;

	(void)state;
	memset(path + 6, 'h', 240);
	(void)strlcpy(path + 246, "/r/-/1", sizeof(path) - 246);
	pull = pull_named(path);
	memset(path, 'd', 400);
	path[200] = '/';
	(void)strlcpy(path + 400, "/-/w", sizeof(path) - 400);
	assert_int_equal(atlock_project_parse(&pull, path, &project, &why), -ENAMETOOLONG);
	assert_non_null(strstr(why.text, "142 bytes too long"));
	assert_int_equal(atlock_project_parse(&pull, path + 142, &project, &why), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_one_spelling),
		cmocka_unit_test(names_come_apart_and_together),
		cmocka_unit_test(statuses_have_words),
		cmocka_unit_test(a_long_host_leaves_less_room_for_projects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
