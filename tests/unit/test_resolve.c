/*
 * Paths below custom/: from text to a name and back, deep trees, and what a restart or damage leaves of them.
 */
#include "dir_fixture.h"

#include "record.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEPTH 100
#define DEEP_NAME 127

static void path_resolves_through_directories(void **state)
{
	struct fixture *f = *state;
	uint64_t a = fixture_make(f, 0, "a");
	uint64_t b = fixture_make(f, a, "b%40");
	struct atlock_grant grant;
	struct atlock_name expected;
	struct atlock_name name;

	assert_int_equal(atlock_name_custom(b, "lock@me", &expected, NULL), 0);
	assert_int_equal(atlock_resolve(f->al, "custom/a/b%40/lock@me", &name, &f->why), 0);
	assert_true(atlock_name_equal(&name, &expected));
	assert_string_equal(name.who, "me");
	assert_int_equal(fixture_acquire(f, b, "lock", 60, &grant), 0);
	assert_int_equal(atlock_resolve(f->al, "custom/a/b%40/lock", &name, &f->why), 0);
	assert_true(atlock_name_equal(&name, &expected));
	assert_int_equal(atlock_resolve(f->al, "custom/top", &name, &f->why), 0);
	assert_int_equal(atlock_resolve(f->al, "repos/a/-/d/-/ws", &name, &f->why), 0);
	assert_int_equal(atlock_name_tree(&name), ATLOCK_REPOS);
}

static void path_that_leads_nowhere_says_why(void **state)
{
	static const struct {
		const char *path;
		int err;
	} bad[] = {
		{ "custom", -EISDIR },           { "custom/", -EINVAL },          { "custom/a", -EISDIR },
		{ "custom/a@me", -EISDIR },      { "custom/a/", -EINVAL },        { "custom//lock", -EINVAL },
		{ "custom/a/lock/x", -ENOTDIR }, { "custom/a/old/x", -ENOENT },   { "custom/b/lock", -ENOENT },
		{ "custom/a/../lock", -EINVAL }, { "custom/a@me/lock", -EINVAL }, { "custom/a/%41", -EINVAL },
		{ "elsewhere/a", -ENOENT },      { "repos/a", -EISDIR },          { "", -EINVAL },
	};
	struct fixture *f = *state;
	uint64_t a = fixture_make(f, 0, "a");
	struct atlock_grant grant;
	struct atlock_name name;
	char path[ATLOCK_PATH_MAX + 1];

	assert_int_equal(fixture_acquire(f, a, "old", 5, &grant), 0);
	assert_int_equal(fixture_acquire(f, a, "lock", 60, &grant), 0);
	fixture_advance(f, 6);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(atlock_resolve(f->al, bad[i].path, &name, &f->why), bad[i].err);
		assert_int_not_equal(f->why.code, ATLOCK_OK);
		assert_int_not_equal(f->why.code, ATLOCK_BACKEND_ERROR);
	}
	strcpy(path, "custom/");
	memset(path + 7, 'x', sizeof(path) - 8);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(atlock_resolve(f->al, path, &name, &f->why), -ENAMETOOLONG);
	path[7 + 256] = '/';
	path[7 + 258] = '\0';
	assert_int_equal(atlock_resolve(f->al, path, &name, &f->why), -ENAMETOOLONG);
	assert_int_equal(atlock_resolve(f->al, NULL, &name, &f->why), -EINVAL);
	assert_int_equal(atlock_resolve(NULL, "custom/a", &name, &f->why), -EINVAL);
}

static void name_prints_as_the_path_it_has(void **state)
{
	struct fixture *f = *state;
	uint64_t a = fixture_make(f, 0, "a");
	struct atlock_name name;
	char path[64];

	assert_int_equal(atlock_name_custom(fixture_make(f, a, "b"), "lock@me", &name, NULL), 0);
	assert_int_equal(atlock_name_print(f->al, &name, path, sizeof(path)), 0);
	assert_string_equal(path, "custom/a/b/lock");
	assert_int_equal(atlock_name_print(f->al, &name, path, strlen("custom/a/b/lock") + 1), 0);
	assert_int_equal(atlock_name_print(f->al, &name, path, strlen("custom/a/b/lock")), -ERANGE);
	assert_int_equal(atlock_name_print(f->al, &name, path, 1), -ERANGE);
	assert_int_equal(atlock_name_print(f->al, &name, path, 0), -ERANGE);
	assert_int_equal(atlock_name_print(NULL, &name, path, sizeof(path)), -EINVAL);
	assert_int_equal(atlock_name_print(f->al, NULL, path, sizeof(path)), -EINVAL);
	assert_int_equal(atlock_dir_remove(f->al, a, "b", NULL, &f->why), 0);
	assert_int_equal(atlock_name_print(f->al, &name, path, sizeof(path)), -ENOENT);
	assert_int_equal(atlock_name_parse("global/apply", &name, NULL), 0);
	assert_int_equal(atlock_name_print(NULL, &name, path, sizeof(path)), 0);
	assert_string_equal(path, "global/apply");
}

/* Far deeper than PATH_MAX, as relative paths allow: everything works, and events keep the end of the path. */
static void tree_may_be_deeper_than_a_path_is_long(void **state)
{
	struct fixture *f = *state;
	uint64_t dirs[DEPTH + 1] = { 0 };
	char component[DEEP_NAME + 1];
	char expected[sizeof("custom") + DEPTH * (DEEP_NAME + 1) + sizeof("/lock")] = "custom";
	char path[sizeof(expected)];
	char shown[ATLOCK_PATH_MAX];
	struct atlock_grant grant;
	struct atlock_name name;

	memset(component, 'x', DEEP_NAME);
	component[DEEP_NAME] = '\0';
	for (size_t i = 0; i < DEPTH; i++) {
		dirs[i + 1] = fixture_make(f, dirs[i], component);
		strcat(strcat(expected, "/"), component);
	}
	strcat(expected, "/lock");
	assert_int_equal(fixture_acquire(f, dirs[DEPTH], "lock", 60, &grant), 0);
	assert_int_equal(atlock_name_custom(dirs[DEPTH], "lock", &name, NULL), 0);
	assert_int_equal(atlock_name_print(f->al, &name, path, ATLOCK_PATH_MAX), -ERANGE);
	assert_int_equal(atlock_name_print(f->al, &name, path, sizeof(path)), 0);
	assert_string_equal(path, expected);

	/* 31 whole directories are what fits besides "custom/-" and "/lock". */
	strcpy(path, "custom/-");
	strcat(path, expected + strlen(expected) - strlen("/lock") - (size_t)31 * (DEEP_NAME + 1));
	fixture_event_is(f, ATLOCK_EVENT_ACQUIRED, path);
	assert_int_equal(atlock_name_show(f->al, &name, shown, sizeof(shown)), 0);
	assert_string_equal(shown, path);
	assert_int_equal(fixture_release(f, dirs[DEPTH], "lock"), 0);
	for (size_t i = DEPTH; i > 0; i--)
		assert_int_equal(atlock_dir_remove(f->al, dirs[i - 1], component, NULL, &f->why), 0);
}

static void restart_keeps_tree_and_ids(void **state)
{
	struct atlock_setup setup = { .host = "host", .manual = true };
	struct atlock_caller alice;
	struct atlock_dir made;
	struct atlock_dir dir;
	struct atlock *al;
	char *path = scratch_new();

	(void)state;
	assert_int_equal(atlock_caller_init(&alice, "alice", "me", 1000), 0);
	assert_int_equal(atlock_open(&al, path, &setup, NULL), 0);
	assert_int_equal(atlock_dir_make(al, 0, "gone", &alice, 0755, 0, NULL, NULL), 0);
	assert_int_equal(atlock_dir_make(al, 0, "kept", &alice, 01700, 5, &made, NULL), 0);
	assert_int_equal(atlock_dir_remove(al, 0, "gone", NULL, NULL), 0);
	atlock_close(al);

	assert_int_equal(atlock_open(&al, path, &setup, NULL), 0);
	assert_int_equal(atlock_dir_find(al, 0, "kept", &dir), 0);
	assert_memory_equal(&dir, &made, sizeof(dir));
	assert_int_equal(atlock_dir_find(al, 0, "gone", &dir), -ENOENT);
	assert_int_equal(atlock_dir_make(al, made.id, "new", &alice, 0755, 0, &dir, NULL), 0);
	assert_int_equal(dir.id, made.id + 1);
	assert_int_equal(atlock_check(al, stderr), 0);
	atlock_close(al);
	scratch_remove(path);
}

/* Ways to damage the tree custom/a (1), custom/a/b (2) with the lock custom/a/lock. */
static int drop_record(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_number(TABLE_DIR, 2);

	(void)arg;
	return store_del(txn, record_key_slice(&key));
}

static int drop_entry(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_entry(1, slice_of("b"));

	(void)arg;
	return store_del(txn, record_key_slice(&key));
}

static int drop_directory_of_lock(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_number(TABLE_DIR, 1);

	(void)arg;
	return store_del(txn, record_key_slice(&key));
}

static int garble_record(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_number(TABLE_DIR, 2);

	(void)arg;
	return store_put(txn, record_key_slice(&key), slice_of("garbage"));
}

static int name_directory_like_lock(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_entry(1, slice_of("lock"));

	(void)arg;
	return store_put(txn, record_key_slice(&key), slice_of("8 bytes."));
}

static void damage(struct fixture *f, store_fn *fn)
{
	struct store_options options = { .engine = &mem_engine, .engine_arg = f->stage->world };
	struct store *store;
	char why[256];

	fixture_close(f);
	assert_int_equal(store_open(&store, "mem", &options, why, sizeof(why)), 0);
	assert_int_equal(store_update(store, fn, NULL), 0);
	store_close(store);
	fixture_open(f);
}

static void check_finds_damage(void **state)
{
	static store_fn *const ways[] = { drop_record, drop_entry, drop_directory_of_lock, garble_record,
					  name_directory_like_lock };

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct atlock_grant grant;
		struct fixture *f;
		char text[256];

		assert_int_equal(fixture_setup((void **)&f), 0);
		fixture_make(f, fixture_make(f, 0, "a"), "b");
		assert_int_equal(fixture_acquire(f, 1, "lock", 60, &grant), 0);
		assert_int_equal(atlock_check(f->al, stderr), 0);
		damage(f, ways[i]);
		assert_true(atlock_check(f->al, NULL) > 0);
		(void)fixture_list(f, 1, 100, text, sizeof(text));
		(void)atlock_dir_remove(f->al, 1, "b", NULL, &f->why);
		fixture_close(f);
		assert_int_equal(fixture_teardown((void **)&f), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(path_resolves_through_directories),      TEST(path_that_leads_nowhere_says_why),
		TEST(name_prints_as_the_path_it_has),         TEST(tree_may_be_deeper_than_a_path_is_long),
		cmocka_unit_test(restart_keeps_tree_and_ids), cmocka_unit_test(check_finds_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
