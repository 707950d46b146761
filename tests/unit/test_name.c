/* One lock has one name: the vectors, what is unique about spellings, and limits. SEED= repeats a random run. */
#include <bsd/string.h>
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lock_name.h"
#include "unit/name_vectors.h"
#include "why.h"

#define ROUNDS 20000

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* xorshift64*: the same numbers on every machine. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static size_t random_below(uint64_t *state, size_t n)
{
	return (size_t)(random_next(state) >> 33) % n;
}

static uint64_t random_seed(void)
{
	const char *text = getenv("SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	return seed ? seed : 1;
}

static void assert_text_is_tame(const struct atlock_why *why)
{
	assert_int_not_equal(why->code, ATLOCK_OK);
	assert_true(why->text[0]);
	for (const char *p = why->text; *p; p++)
		assert_false((unsigned char)*p < 0x20 || *p == 0x7f);
}

static void assert_refused(const struct name_vector *v)
{
	struct atlock_name name = { .len = 7 };
	struct atlock_name before = name;
	struct atlock_why why = { 0 };

	assert_int_equal(atlock_name_parse(v->path, &name, &why), v->err);
	assert_text_is_tame(&why);
	if (!strstr(why.text, v->says))
		fail_msg("%s: \"%s\" does not say \"%s\"", v->path, why.text, v->says);
	assert_memory_equal(&name, &before, sizeof(name));
	assert_int_equal(atlock_path_kind(v->path, NULL, NULL), v->err == -EISDIR ? ATLOCK_PATH_DIR : v->err);
}

static void assert_means(const struct name_vector *v)
{
	const char *spelling = v->spelling ? v->spelling : v->path;
	char text[ATLOCK_PATH_MAX];
	struct atlock_name name;
	struct atlock_name again;
	struct atlock_parts parts;
	struct atlock_why why = { 0 };

	if (atlock_name_parse(v->path, &name, &why))
		fail_msg("%s: %s", v->path, why.text);
	assert_int_equal(atlock_path_kind(v->path, NULL, NULL), ATLOCK_PATH_LOCK);
	assert_string_equal(name.who, or_empty(v->who));
	assert_int_equal(name_print_plain(&name, text, sizeof(text)), 0);
	assert_string_equal(text, spelling);
	assert_int_equal(atlock_name_parse(text, &again, NULL), 0);
	assert_true(atlock_name_equal(&name, &again));
	assert_null(memchr(name.key, '\0', name.len));
	if (!v->repo) {
		assert_int_equal(atlock_name_tree(&name), ATLOCK_GLOBAL);
		assert_int_equal(atlock_name_split(&name, &parts), -EINVAL);
		return;
	}
	assert_int_equal(atlock_name_tree(&name), ATLOCK_REPOS);
	assert_int_equal(atlock_name_split(&name, &parts), 0);
	assert_string_equal(parts.repo, v->repo);
	assert_string_equal(parts.dir, v->dir);
	assert_string_equal(parts.workspace, v->workspace);
	assert_string_equal(parts.project, or_empty(v->project));
	assert_int_equal(atlock_name_join(&parts, &again, NULL), v->wanders ? -EINVAL : 0);
	assert_true(v->wanders || atlock_name_equal(&name, &again));
}

static void vectors_parse_print_split_and_join(void **state)
{
	(void)state;
	assert_true(name_vectors_count >= 100);
	for (size_t i = 0; i < name_vectors_count; i++) {
		if (name_vectors[i].err)
			assert_refused(&name_vectors[i]);
		else
			assert_means(&name_vectors[i]);
	}
}

static bool same_lock(const struct name_vector *a, const struct name_vector *b)
{
	if (!a->repo || !b->repo)
		return !a->repo && !b->repo && strcmp(a->workspace, b->workspace) == 0;
	return strcmp(a->repo, b->repo) == 0 && strcmp(a->dir, b->dir) == 0 &&
	       strcmp(a->workspace, b->workspace) == 0 && strcmp(or_empty(a->project), or_empty(b->project)) == 0;
}

static void two_vectors_share_a_key_only_if_they_are_one_lock(void **state)
{
	(void)state;
	for (size_t i = 0; i < name_vectors_count; i++) {
		struct atlock_name a;

		if (atlock_name_parse(name_vectors[i].path, &a, NULL))
			continue;
		for (size_t j = 0; j < i; j++) {
			struct atlock_name b;

			if (atlock_name_parse(name_vectors[j].path, &b, NULL) == 0)
				assert_int_equal(atlock_name_equal(&a, &b),
						 same_lock(&name_vectors[i], &name_vectors[j]));
		}
	}
}

/* A component, mostly of bytes that mean something somewhere. */
static size_t random_component(uint64_t *rng, bool slash, char *out)
{
	static const char odd[] = "-.-.%:@+=&# aA2DEF\n\t\x1b\x7f\xc2\x9b\xc3\xa9\xff";
	size_t len = 1 + random_below(rng, 6);

	for (size_t i = 0; i < len; i++) {
		out[i] = odd[random_below(rng, sizeof(odd) - 1)];
		if (slash && random_below(rng, 8) == 0)
			out[i] = '/';
	}
	out[len] = '\0';
	return len;
}

/* What was walked before is gone on from where that helps, and must not be seen. */
static void a_path_means_the_same_whatever_was_parsed_before(void **state)
{
	(void)state;
	for (size_t i = 0; i < name_vectors_count; i++) {
		for (size_t j = 0; j < name_vectors_count; j++) {
			struct atlock_name alone = { 0 };
			struct atlock_name after = { 0 };
			struct atlock_why why[2] = { { 0 } };
			int err;

			assert_int_equal(atlock_path_kind("global/other", NULL, NULL), ATLOCK_PATH_LOCK);
			err = atlock_name_parse(name_vectors[j].path, &alone, &why[0]);
			(void)atlock_path_kind(name_vectors[i].path, NULL, NULL);
			assert_int_equal(atlock_name_parse(name_vectors[j].path, &after, &why[1]), err);
			assert_memory_equal(&after, &alone, sizeof(alone));
			assert_string_equal(why[1].text, why[0].text);
		}
	}
}

static void random_path(uint64_t *rng, size_t components, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < components; i++) {
		if (i > 0)
			out[n++] = '/';
		do
			out[n] = '\0';
		while (random_component(rng, false, out + n) <= 2 && (!strcmp(out + n, ".") || !strcmp(out + n, "..")));
		n += strlen(out + n);
	}
	out[n] = '\0';
}

static void every_name_of_parts_comes_back(void **state)
{
	uint64_t rng = random_seed();

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct atlock_parts parts = { .dir = "." };
		struct atlock_parts back;
		struct atlock_name name;
		struct atlock_name again;
		struct atlock_why why = { 0 };
		char path[ATLOCK_PATH_MAX];
		size_t depth = random_below(&rng, 4);

		random_path(&rng, 1 + random_below(&rng, 4), parts.repo);
		if (depth > 0)
			random_path(&rng, depth, parts.dir);
		random_component(&rng, true, parts.workspace);
		if (random_below(&rng, 2))
			random_component(&rng, true, parts.project);
		if (atlock_name_join(&parts, &name, &why))
			fail_msg("round %d: %s", i, why.text);
		assert_int_equal(atlock_name_split(&name, &back), 0);
		assert_string_equal(back.repo, parts.repo);
		assert_string_equal(back.dir, parts.dir);
		assert_string_equal(back.workspace, parts.workspace);
		assert_string_equal(back.project, parts.project);
		assert_int_equal(name_print_plain(&name, path, sizeof(path)), 0);
		assert_int_equal(atlock_name_parse(path, &again, NULL), 0);
		assert_true(atlock_name_equal(&name, &again));
	}
}

/* Undoes what a path may have besides its one spelling: "@who", and "." for the root directory. */
static void spelling_reduce(char *path)
{
	char *leaf = strrchr(path, '/');
	char *who = leaf ? strchr(leaf, '@') : NULL;
	char *dot = strstr(path, "/-/./-/");

	if (who)
		*who = '\0';
	if (dot)
		memmove(dot + 2, dot + 4, strlen(dot + 4) + 1);
}

static void whatever_is_accepted_is_printed_as_it_was_spelled(void **state)
{
	static const char *const pieces[] = { "/-/", "/-/", "/-/", "/",   "-",   ".",   "..",  "a", "b", "@", ":",
					      "%2D", "%2E", "%2F", "%3A", "%40", "%25", "%0A", "%", "2", "F", "\n" };
	uint64_t rng = random_seed();
	int accepted = 0;

	(void)state;
	for (int i = 0; i < 10 * ROUNDS; i++) {
		char path[256];
		char printed[ATLOCK_PATH_MAX];
		struct atlock_name name;
		struct atlock_why why = { 0 };
		int err;

		strlcpy(path, random_below(&rng, 8) ? "repos/a" : "global/", sizeof(path));
		for (size_t n = random_below(&rng, 12); n > 0; n--)
			strlcat(path, pieces[random_below(&rng, sizeof(pieces) / sizeof(pieces[0]))], sizeof(path));
		err = atlock_name_parse(path, &name, &why);
		if (err) {
			assert_true(err == -EINVAL || err == -EISDIR || err == -ENOTDIR);
			assert_text_is_tame(&why);
			continue;
		}
		accepted++;
		assert_int_equal(name_print_plain(&name, printed, sizeof(printed)), 0);
		spelling_reduce(path);
		assert_string_equal(printed, path);
	}
	assert_true(accepted > 100);
}

static void joining_refuses_what_is_no_path(void **state)
{
	static const struct {
		const char *repo;
		const char *dir;
		const char *workspace;
	} bad[] = {
		{ "", "d", "ws" },       { "r", "d", "" },     { "/r", "d", "ws" },  { "r/", "d", "ws" },
		{ "r//s", "d", "ws" },   { "r", "/d", "ws" },  { "r", "d/", "ws" },  { "r", "a//b", "ws" },
		{ "r", "/", "ws" },      { "..", "d", "ws" },  { "r", "..", "ws" },  { "r", "../d", "ws" },
		{ "r", "a/../b", "ws" }, { "r", "./d", "ws" }, { "r", "d/.", "ws" }, { ".", "d", "ws" },
	};
	struct atlock_parts parts;
	struct atlock_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct atlock_why why = { 0 };

		memset(&parts, 0, sizeof(parts));
		strlcpy(parts.repo, bad[i].repo, sizeof(parts.repo));
		strlcpy(parts.dir, bad[i].dir, sizeof(parts.dir));
		strlcpy(parts.workspace, bad[i].workspace, sizeof(parts.workspace));
		assert_int_equal(atlock_name_join(&parts, &name, &why), -EINVAL);
		assert_text_is_tame(&why);
	}
	memset(&parts, 'x', sizeof(parts));
	assert_int_equal(atlock_name_join(&parts, &name, NULL), -EINVAL);
	memset(&parts, 0, sizeof(parts));
	strlcpy(parts.repo, "r", sizeof(parts.repo));
	memset(parts.workspace, '\n', ATLOCK_COMPONENT_MAX);
	assert_int_equal(atlock_name_join(&parts, &name, NULL), -ENAMETOOLONG);
	memset(parts.dir, '\n', ATLOCK_KEY_MAX);
	memset(parts.project, '\n', ATLOCK_COMPONENT_MAX);
	memset(parts.repo, '\n', ATLOCK_KEY_MAX);
	assert_int_equal(atlock_name_join(&parts, &name, NULL), -ENAMETOOLONG);
}

static void the_root_directory_is_empty_or_a_dot(void **state)
{
	struct atlock_parts parts = { .repo = "r", .dir = "", .workspace = "ws" };
	struct atlock_name a;
	struct atlock_name b;

	(void)state;
	assert_int_equal(atlock_name_join(&parts, &a, NULL), 0);
	strlcpy(parts.dir, ".", sizeof(parts.dir));
	assert_int_equal(atlock_name_join(&parts, &b, NULL), 0);
	assert_true(atlock_name_equal(&a, &b));
}

static void a_name_fits_one_key(void **state)
{
	char path[ATLOCK_PATH_MAX + 8] = "repos/";
	struct atlock_name name;
	struct atlock_why why;

	(void)state;
	/* 489 bytes after "repos/": 232 + 1 + 250 + "/-/-/w". */
	memset(path + 6, 'a', 232);
	path[238] = '/';
	memset(path + 239, 'b', 250);
	strlcpy(path + 489, "/-/-/w", 16);
	assert_int_equal(strlen(path), 6 + ATLOCK_KEY_MAX - 1);
	assert_int_equal(atlock_name_parse(path, &name, NULL), 0);
	assert_int_equal(name.len, ATLOCK_KEY_MAX);
	strlcat(path, "@who-is-not-part-of-it", sizeof(path));
	assert_int_equal(atlock_name_parse(path, &name, NULL), 0);
	strlcpy(path + 489, "/-/-/ww", 16);
	assert_int_equal(atlock_name_parse(path, &name, &why), -ENAMETOOLONG);
	assert_non_null(strstr(why.text, "489"));
	memset(path, 'a', ATLOCK_PATH_MAX);
	path[ATLOCK_PATH_MAX] = '\0';
	assert_int_equal(atlock_name_parse(path, &name, NULL), -ENAMETOOLONG);
	assert_int_equal(atlock_path_kind(path, NULL, NULL), -ENAMETOOLONG);
}

static void who_has_its_own_limit(void **state)
{
	char leaf[256] = "n@";
	struct atlock_name name;

	(void)state;
	memset(leaf + 2, 'w', ATLOCK_WHO_MAX);
	leaf[2 + ATLOCK_WHO_MAX] = '\0';
	assert_int_equal(atlock_name_custom(0, leaf, &name, NULL), 0);
	assert_int_equal(strlen(name.who), ATLOCK_WHO_MAX);
	strlcat(leaf, "w", sizeof(leaf));
	assert_int_equal(atlock_name_custom(0, leaf, &name, NULL), -ENAMETOOLONG);
	/* One without a name before it is wrong at any length. */
	memset(leaf, '@', ATLOCK_COMPONENT_MAX);
	leaf[ATLOCK_COMPONENT_MAX] = '\0';
	assert_int_equal(atlock_name_custom(0, leaf, &name, NULL), -EINVAL);
}

static void custom_names_are_directory_and_component(void **state)
{
	static const uint64_t ids[] = { 0, 1, 255, 256, UINT64_C(0x0123456789abcdef), UINT64_MAX };
	struct atlock_name first;
	struct atlock_name name;

	(void)state;
	assert_int_equal(atlock_name_custom(7, "deploy@w", &first, NULL), 0);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		uint64_t big = htobe64(ids[i]);

		assert_int_equal(atlock_name_custom(ids[i], "deploy@w", &name, NULL), 0);
		assert_string_equal(name.who, "w");
		assert_int_equal(atlock_name_tree(&name), ATLOCK_CUSTOM);
		assert_false(atlock_name_equal(&name, &first));
		assert_int_equal(name.len, 1 + sizeof(big) + strlen("deploy"));
		assert_memory_equal(name.key + 1, &big, sizeof(big));
		assert_memory_equal(name.key + 1 + sizeof(big), "deploy", strlen("deploy"));
		assert_int_equal(name_check(&name), 0);
	}
}

static void custom_components_have_one_spelling_too(void **state)
{
	static const struct {
		const char *text;
		int dir;
		int leaf;
	} cases[] = {
		{ "a", 0, 0 },
		{ "a:b c+d", 0, 0 },
		{ "a%2Fb%40c%25", 0, 0 },
		{ "%2D", 0, 0 },
		{ "%2E%2E", 0, 0 },
		{ "a@b", -EINVAL, 0 },
		{ "-", -EINVAL, -EINVAL },
		{ ".", -EINVAL, -EINVAL },
		{ "..", -EINVAL, -EINVAL },
		{ "", -EINVAL, -EINVAL },
		{ "@w", -EINVAL, -EINVAL },
		{ "a@", -EINVAL, -EINVAL },
		{ "a/b", -EINVAL, -EINVAL },
		{ "a%3Ab", -EINVAL, -EINVAL },
		{ "a\nb", -EINVAL, -EINVAL },
		{ "%", -EINVAL, -EINVAL },
	};
	char large[400];
	struct atlock_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(atlock_component_check(cases[i].text, NULL), cases[i].dir);
		assert_int_equal(atlock_name_custom(1, cases[i].text, &name, NULL), cases[i].leaf);
	}
	memset(large, 'a', sizeof(large));
	large[ATLOCK_COMPONENT_MAX] = '\0';
	assert_int_equal(atlock_component_check(large, NULL), 0);
	assert_int_equal(atlock_name_custom(1, large, &name, NULL), 0);
	large[ATLOCK_COMPONENT_MAX] = 'a';
	large[ATLOCK_COMPONENT_MAX + 1] = '\0';
	assert_int_equal(atlock_component_check(large, NULL), -ENAMETOOLONG);
	assert_int_equal(atlock_name_custom(1, large, &name, NULL), -ENAMETOOLONG);
}

static void a_prefix_is_what_keys_below_begin_with(void **state)
{
	static const struct {
		const char *dir;
		const char *key;
		int err;
	} cases[] = {
		{ "repos", "r", 0 },
		{ "repos/acme", "racme/", 0 },
		{ "repos/acme/infra/-", "racme/infra/-/", 0 },
		{ "repos/acme/infra/-/.", "racme/infra/-/", 0 },
		{ "repos/acme/infra/-/-", "racme/infra/-/-/", 0 },
		{ "repos/acme/infra/-/a/b", "racme/infra/-/a/b/", 0 },
		{ "global", "g", 0 },
		{ "global/apply", NULL, -ENOTDIR },
		{ "repos/r/-/d/-/ws", NULL, -ENOTDIR },
		{ "custom/a", NULL, -EINVAL },
		{ "repos/..", NULL, -EINVAL },
	};
	struct atlock_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(name_prefix(cases[i].dir, &name, NULL), cases[i].err);
		if (!cases[i].key)
			continue;
		assert_int_equal(name.len, strlen(cases[i].key));
		assert_memory_equal(name.key, cases[i].key, name.len);
	}
}

static void nothing_given_is_an_error(void **state)
{
	struct atlock_name name = { .len = 0 };
	struct atlock_name broken = { .len = UINT16_MAX, .key = "r" };
	struct atlock_parts parts;
	char text[8];

	(void)state;
	assert_int_equal(atlock_path_kind(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_name_parse(NULL, &name, NULL), -EINVAL);
	assert_int_equal(atlock_name_parse("global/apply", NULL, NULL), -EINVAL);
	assert_int_equal(atlock_name_custom(0, NULL, &name, NULL), -EINVAL);
	assert_int_equal(atlock_name_custom(0, "a", NULL, NULL), -EINVAL);
	assert_int_equal(atlock_component_check(NULL, NULL), -EINVAL);
	assert_int_equal(atlock_name_split(NULL, &parts), -EINVAL);
	assert_int_equal(atlock_name_split(&name, &parts), -EINVAL);
	assert_int_equal(atlock_name_split(&broken, &parts), -EINVAL);
	assert_int_equal(atlock_name_join(NULL, &name, NULL), -EINVAL);
	assert_int_equal(name_print_plain(NULL, text, sizeof(text)), -EINVAL);
	assert_int_equal(name_print_plain(&broken, text, sizeof(text)), -EINVAL);
	assert_int_equal(name_check(NULL), -EINVAL);
	assert_int_equal(name_check(&broken), -EINVAL);
	assert_false(atlock_name_equal(NULL, &name));
	assert_false(atlock_name_equal(&broken, &broken));
	assert_int_equal(atlock_name_parse("global/apply", &name, NULL), 0);
	assert_int_equal(name_print_plain(&name, text, sizeof(text)), -ERANGE);
	assert_int_equal(atlock_name_custom(1, "a", &name, NULL), 0);
	assert_int_equal(name_print_plain(&name, text, sizeof(text)), -EINVAL);
}

static void refusals_are_one_tame_line(void **state)
{
	struct atlock_why why;
	char large[2000];

	(void)state;
	assert_int_equal(why_set(&why, -EBUSY, ATLOCK_LOCK_EXISTS, "%s", "a\nb\x1b[2J\x7f\xc2\x9b\xc3\xa9"), -EBUSY);
	assert_int_equal(why.code, ATLOCK_LOCK_EXISTS);
	assert_string_equal(why.text, "a?b?[2J???\xc3\xa9");
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(why_set(&why, -EIO, ATLOCK_BACKEND_ERROR, "%s", large), -EIO);
	assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
	assert_int_equal(why_set(NULL, -EIO, ATLOCK_BACKEND_ERROR, "%s", large), -EIO);
	why_clear(&why);
	why_clear(NULL);
	assert_int_equal(why.code, ATLOCK_OK);
	assert_string_equal(why.text, "");
	for (int code = 0; code < ATLOCK_CODES; code++)
		assert_string_not_equal(atlock_code_name((enum atlock_code)code), "UNKNOWN");
	assert_string_equal(atlock_code_name(ATLOCK_CODES), "UNKNOWN");
	assert_string_equal(atlock_code_name(ATLOCK_LOCK_EXISTS), "LOCK_EXISTS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_parse_print_split_and_join),
		cmocka_unit_test(a_path_means_the_same_whatever_was_parsed_before),
		cmocka_unit_test(two_vectors_share_a_key_only_if_they_are_one_lock),
		cmocka_unit_test(every_name_of_parts_comes_back),
		cmocka_unit_test(whatever_is_accepted_is_printed_as_it_was_spelled),
		cmocka_unit_test(joining_refuses_what_is_no_path),
		cmocka_unit_test(the_root_directory_is_empty_or_a_dot),
		cmocka_unit_test(a_name_fits_one_key),
		cmocka_unit_test(who_has_its_own_limit),
		cmocka_unit_test(custom_names_are_directory_and_component),
		cmocka_unit_test(custom_components_have_one_spelling_too),
		cmocka_unit_test(a_prefix_is_what_keys_below_begin_with),
		cmocka_unit_test(nothing_given_is_an_error),
		cmocka_unit_test(refusals_are_one_tame_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
