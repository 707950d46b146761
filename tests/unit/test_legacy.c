/* Atlantis' key of a pull request, both ways; and locks that share a key in Atlantis are different locks here. */
#include <bsd/string.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "atlock/import.h"
#include "lock_name.h"
#include "unit/name_vectors.h"

static void parts_fill(struct atlock_parts *parts, const struct legacy_vector *v)
{
	memset(parts, 0, sizeof(*parts));
	strlcpy(parts->repo, v->repo, sizeof(parts->repo));
	strlcpy(parts->dir, v->dir, sizeof(parts->dir));
	strlcpy(parts->workspace, v->workspace, sizeof(parts->workspace));
	strlcpy(parts->project, v->project, sizeof(parts->project));
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

static void nothing_given_is_an_error(void **state)
{
	struct atlock_pull pull = { .host = "h", .repo = "r", .num = 1 };
	char text[64];

	(void)state;
	assert_int_equal(atlock_legacy_pull_key(NULL, text, sizeof(text)), -EINVAL);
	assert_int_equal(atlock_legacy_pull_key(&pull, NULL, 0), -EINVAL);
	assert_int_equal(atlock_legacy_pull_parse(NULL, &pull, NULL), -EINVAL);
	assert_int_equal(atlock_legacy_pull_parse("h::r::1", NULL, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_have_names_here),    cmocka_unit_test(locks_that_share_a_key_are_apart_here),
		cmocka_unit_test(pull_requests_go_both_ways), cmocka_unit_test(what_is_no_pull_request_is_refused),
		cmocka_unit_test(nothing_given_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
