/* Atlantis' keys, both ways, and that locks which share a key of its are apart here. */
#include <bsd/string.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "name.h"
#include "unit/name_vectors.h"

static void parts_fill(struct atlock_parts *parts, const struct legacy_vector *v)
{
	memset(parts, 0, sizeof(*parts));
	strlcpy(parts->repo, v->repo, sizeof(parts->repo));
	strlcpy(parts->dir, v->dir, sizeof(parts->dir));
	strlcpy(parts->workspace, v->workspace, sizeof(parts->workspace));
	strlcpy(parts->project, v->project, sizeof(parts->project));
}

static void assert_both_ways(const struct legacy_vector *v, enum atlock_legacy form, const char *prefix,
			     const char *key)
{
	struct atlock_parts parts;
	struct atlock_parts back;
	struct atlock_why why = { 0 };
	char expected[256];
	char text[256];

	parts_fill(&parts, v);
	if (!key) {
		assert_int_equal(atlock_legacy_key(&parts, form, text, sizeof(text)), -EINVAL);
		return;
	}
	strlcpy(expected, prefix, sizeof(expected));
	strlcat(expected, key, sizeof(expected));
	assert_int_equal(atlock_legacy_key(&parts, form, text, sizeof(text)), 0);
	assert_string_equal(text, expected);
	assert_int_equal(atlock_legacy_key(&parts, form, text, strlen(expected)), -ERANGE);
	assert_int_equal(atlock_legacy_key(&parts, form, text, strlen(expected) + 1), 0);
	if (atlock_legacy_parse(text, v->repo, v->dir, &back, &why))
		fail_msg("%s: %s", text, why.text);
	assert_memory_equal(&back, &parts, sizeof(parts));
}

static void keys_go_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < legacy_vectors_count; i++) {
		const struct legacy_vector *v = &legacy_vectors[i];

		assert_both_ways(v, ATLOCK_LEGACY_4, "", v->four);
		assert_both_ways(v, ATLOCK_LEGACY_3, "", v->three);
		assert_both_ways(v, ATLOCK_LEGACY_REDIS_4, "pr/", v->four);
		assert_both_ways(v, ATLOCK_LEGACY_REDIS_3, "pr/", v->three);
	}
}

static void vectors_have_names_here(void **state)
{
	(void)state;
	for (size_t i = 0; i < legacy_vectors_count; i++) {
		struct atlock_parts parts;
		struct atlock_name name;
		char path[ATLOCK_PATH_MAX];

		parts_fill(&parts, &legacy_vectors[i]);
		assert_int_equal(atlock_name_join(&parts, &name, NULL), 0);
		assert_int_equal(name_print_plain(&name, path, sizeof(path)), 0);
		assert_string_equal(path, legacy_vectors[i].path);
	}
}

static bool keys_collide(const struct legacy_vector *a, const struct legacy_vector *b)
{
	return strcmp(a->four, b->four) == 0 || (a->three && b->three && strcmp(a->three, b->three) == 0) ||
	       (a->three && strcmp(a->three, b->four) == 0) || (b->three && strcmp(b->three, a->four) == 0);
}

static void locks_that_share_a_key_are_apart_here(void **state)
{
	size_t collisions = 0;

	(void)state;
	for (size_t i = 0; i < legacy_vectors_count; i++) {
		for (size_t j = 0; j < i; j++) {
			struct atlock_name a;
			struct atlock_name b;

			assert_int_equal(atlock_name_parse(legacy_vectors[i].path, &a, NULL), 0);
			assert_int_equal(atlock_name_parse(legacy_vectors[j].path, &b, NULL), 0);
			assert_false(atlock_name_equal(&a, &b));
			collisions += keys_collide(&legacy_vectors[i], &legacy_vectors[j]);
		}
	}
	assert_true(collisions >= 8);
}

static void an_empty_directory_is_the_root(void **state)
{
	struct atlock_parts parts = { .repo = "r", .workspace = "ws" };
	char text[32];

	(void)state;
	assert_int_equal(atlock_legacy_key(&parts, ATLOCK_LEGACY_4, text, sizeof(text)), 0);
	assert_string_equal(text, "r/./ws/");
	assert_int_equal(atlock_legacy_parse(text, "r", "", &parts, NULL), 0);
	assert_string_equal(parts.dir, ".");
}

static void keys_of_other_locks_are_refused(void **state)
{
	static const struct {
		const char *key;
		const char *repo;
		const char *dir;
	} bad[] = {
		{ "", "a", "b" },
		{ "a/b/c", "", "" },
		{ "a/b/", "a", "b" },
		{ "a/b", "a", "b" },
		{ "a/b//p", "a", "b" },
		{ "a/b/c/", "a", "x" },
		{ "a/b/c/", "x", "b" },
		{ "a/b/c/", "a", "b/c" },
		{ "ab/c/d/", "a", "c" },
		{ "org/app-infra/./default/", "org/app", "." },
		{ "/a/b/c", "a", "b" },
		{ "pr/pr/a/b/c", "a", "b" },
		{ "a/../c", "a", ".." },
		{ "a/b/./c", "a", "b/." },
		/* Workspace "pr", project "x", or workspace "x" in Redis' form. */
		{ "pr/pr/pr/x", "pr", "pr" },
	};
	struct atlock_parts parts;
	char large[1200] = "a/b/";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct atlock_why why = { 0 };

		assert_int_equal(atlock_legacy_parse(bad[i].key, bad[i].repo, bad[i].dir, &parts, &why), -EINVAL);
		assert_int_equal(why.code, ATLOCK_INVALID_REQUEST);
		assert_true(why.text[0]);
	}
	memset(large + 4, 'w', sizeof(large) - 5);
	assert_int_equal(atlock_legacy_parse(large, "a", "b", &parts, NULL), -EINVAL);
	large[6] = '/';
	assert_int_equal(atlock_legacy_parse(large, "a", "b", &parts, NULL), -EINVAL);
	assert_int_equal(atlock_legacy_parse("a/b/c", large, "b", &parts, NULL), -EINVAL);
}

static void what_a_key_cannot_say_is_refused(void **state)
{
	struct atlock_parts parts = { .repo = "r", .dir = "d", .workspace = "a/b" };
	char text[64];

	(void)state;
	assert_int_equal(atlock_legacy_key(&parts, ATLOCK_LEGACY_4, text, sizeof(text)), -EINVAL);
	parts = (struct atlock_parts){ .repo = "r", .dir = "d", .workspace = "" };
	assert_int_equal(atlock_legacy_key(&parts, ATLOCK_LEGACY_4, text, sizeof(text)), -EINVAL);
	parts = (struct atlock_parts){ .repo = "r", .dir = "../d", .workspace = "w" };
	assert_int_equal(atlock_legacy_key(&parts, ATLOCK_LEGACY_4, text, sizeof(text)), -EINVAL);
}

static void pull_requests_go_both_ways(void **state)
{
	static const struct {
		const char *key;
		const char *host;
		const char *repo;
		uint64_t num;
	} cases[] = {
		{ "github.com::acme/infra::123", "github.com", "acme/infra", 123 },
		{ "gitlab.example:8443::g/s1/s2/r::1", "gitlab.example:8443", "g/s1/s2/r", 1 },
		{ "dev.azure.com::org/My Project/My Repo::7", "dev.azure.com", "org/My Project/My Repo", 7 },
		{ "h::a:b::18446744073709551615", "h", "a:b", UINT64_MAX },
		{ "h::-::2", "h", "-", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct atlock_pull pull;
		char text[128];

		assert_int_equal(atlock_legacy_pull_parse(cases[i].key, &pull, NULL), 0);
		assert_string_equal(pull.host, cases[i].host);
		assert_string_equal(pull.repo, cases[i].repo);
		assert_true(pull.num == cases[i].num);
		assert_int_equal(atlock_legacy_pull_key(&pull, text, sizeof(text)), 0);
		assert_string_equal(text, cases[i].key);
		assert_int_equal(atlock_legacy_pull_key(&pull, text, strlen(cases[i].key)), -ERANGE);
	}
}

static void what_is_no_pull_request_is_refused(void **state)
{
	static const char *const bad[] = {
		"",           "::",         "h",        "h::r",      "h::r::",
		"::r::1",     "h::::1",     "h::r::x",  "h::r::1x",  "h::r::-1",
		"h::r::+1",   "h::r:: 1",   "h::r::0",  "h::r::01",  "h::r::18446744073709551616",
		"h::a::b::1", "h:::r::1",   "h::r:::1", "h/x::r::1", "h::/r::1",
		"h::r/::1",   "h::a//b::1", "h::..::1", "h\n::r::1", "h::r\n::1",
	};
	struct atlock_pull pull = { .host = "a::b", .repo = "r", .num = 1 };
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct atlock_pull out;
		struct atlock_why why = { 0 };

		if (atlock_legacy_pull_parse(bad[i], &out, &why) != -EINVAL)
			fail_msg("\"%s\" was accepted", bad[i]);
		assert_int_equal(why.code, ATLOCK_INVALID_REQUEST);
		assert_null(strchr(why.text, '\n'));
	}
	assert_int_equal(atlock_legacy_pull_key(&pull, text, sizeof(text)), -EINVAL);
	memset(&pull, 'x', sizeof(pull));
	assert_int_equal(atlock_legacy_pull_key(&pull, text, sizeof(text)), -EINVAL);
}

static void command_locks_go_both_ways(void **state)
{
	static const struct {
		const char *key;
		const char *command;
		bool redis;
	} cases[] = {
		{ "apply/lock", "apply", false },   { "global/apply/lock", "apply", true },
		{ "plan/lock", "plan", false },     { "global/policy_check/lock", "policy_check", true },
		{ "global/lock", "global", false }, { "global/global/lock", "global", true },
		{ "lock/lock", "lock", false },     { "global/lock/lock", "lock", true },
	};
	static const char *const bad[] = {
		"",         "lock",        "/lock",        "apply",           "apply/",   "apply/locks",
		"a/b/lock", "apply/lock/", "global//lock", "global/a/b/lock", "a\nb/lock"
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(atlock_legacy_global_parse(cases[i].key, text, sizeof(text), NULL), 0);
		assert_string_equal(text, cases[i].command);
		assert_int_equal(atlock_legacy_global_key(cases[i].command, cases[i].redis, text, sizeof(text)), 0);
		assert_string_equal(text, cases[i].key);
		assert_int_equal(atlock_legacy_global_key(cases[i].command, cases[i].redis, text, strlen(cases[i].key)),
				 -ERANGE);
		assert_int_equal(atlock_legacy_global_parse(cases[i].key, text, strlen(cases[i].command), NULL),
				 -ERANGE);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(atlock_legacy_global_parse(bad[i], text, sizeof(text), NULL), -EINVAL);
	assert_int_equal(atlock_legacy_global_key("a/b", false, text, sizeof(text)), -EINVAL);
	assert_int_equal(atlock_legacy_global_key("", true, text, sizeof(text)), -EINVAL);
}

static void nothing_given_is_an_error(void **state)
{
	struct atlock_parts parts = { .repo = "r", .workspace = "w" };
	struct atlock_pull pull = { .host = "h", .repo = "r", .num = 1 };
	char text[64];

	(void)state;
	assert_int_equal(atlock_legacy_key(NULL, ATLOCK_LEGACY_3, text, sizeof(text)), -EINVAL);
	assert_int_equal(atlock_legacy_key(&parts, ATLOCK_LEGACY_3, NULL, 0), -EINVAL);
	assert_int_equal(atlock_legacy_key(&parts, (enum atlock_legacy)99, text, sizeof(text)), -EINVAL);
	assert_int_equal(atlock_legacy_parse(NULL, "r", "d", &parts, NULL), -EINVAL);
	assert_int_equal(atlock_legacy_parse("r/d/w", NULL, "d", &parts, NULL), -EINVAL);
	assert_int_equal(atlock_legacy_parse("r/d/w", "r", NULL, &parts, NULL), -EINVAL);
	assert_int_equal(atlock_legacy_parse("r/d/w", "r", "d", NULL, NULL), -EINVAL);
	assert_int_equal(atlock_legacy_pull_key(NULL, text, sizeof(text)), -EINVAL);
	assert_int_equal(atlock_legacy_pull_key(&pull, NULL, 0), -EINVAL);
	assert_int_equal(atlock_legacy_pull_parse(NULL, &pull, NULL), -EINVAL);
	assert_int_equal(atlock_legacy_pull_parse("h::r::1", NULL, NULL), -EINVAL);
	assert_int_equal(atlock_legacy_global_key(NULL, false, text, sizeof(text)), -EINVAL);
	assert_int_equal(atlock_legacy_global_key("apply", false, NULL, 0), -EINVAL);
	assert_int_equal(atlock_legacy_global_parse(NULL, text, sizeof(text), NULL), -EINVAL);
	assert_int_equal(atlock_legacy_global_parse("apply/lock", NULL, 0, NULL), -EINVAL);
}

static void commands_have_numbers(void **state)
{
	(void)state;
	assert_string_equal(atlock_legacy_command(0), "apply");
	assert_string_equal(atlock_legacy_command(9), "cancel");
	assert_null(atlock_legacy_command(10));
	for (size_t i = 0; atlock_legacy_command(i) != NULL; i++)
		assert_int_equal(atlock_legacy_command_number(atlock_legacy_command(i)), i);
	assert_int_equal(atlock_legacy_command_number("Apply"), -ENOENT);
	assert_int_equal(atlock_legacy_command_number(NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_go_both_ways),
		cmocka_unit_test(vectors_have_names_here),
		cmocka_unit_test(locks_that_share_a_key_are_apart_here),
		cmocka_unit_test(an_empty_directory_is_the_root),
		cmocka_unit_test(keys_of_other_locks_are_refused),
		cmocka_unit_test(what_a_key_cannot_say_is_refused),
		cmocka_unit_test(pull_requests_go_both_ways),
		cmocka_unit_test(what_is_no_pull_request_is_refused),
		cmocka_unit_test(command_locks_go_both_ways),
		cmocka_unit_test(nothing_given_is_an_error),
		cmocka_unit_test(commands_have_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
