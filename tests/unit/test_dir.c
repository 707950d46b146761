/*
 * Directories of custom/: what is made, what is refused, what they have to do with the locks in them.
 */
#include "dir_fixture.h"
#include "record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void made_directory_is_found_by_id_and_name(void **state)
{
	struct fixture *f = *state;
	struct atlock_dir made;
	struct atlock_dir dir;

	assert_int_equal(atlock_dir_make(f->al, 0, "build", &f->alice, 02750, 100, &made, &f->why), 0);
	assert_int_equal(made.id, 1);
	assert_int_equal(atlock_dir_get(f->al, 1, &dir), 0);
	assert_memory_equal(&dir, &made, sizeof(dir));
	assert_int_equal(atlock_dir_find(f->al, 0, "build", &dir), 0);
	assert_memory_equal(&dir, &made, sizeof(dir));
	assert_string_equal(dir.name, "build");
	assert_int_equal(dir.parent, 0);
	assert_int_equal(dir.uid, f->alice.uid);
	assert_int_equal(dir.gid, 100);
	assert_int_equal(dir.mode, 02750);
	assert_int_equal(dir.subdirs, 0);
	assert_true(dir.atime == f->stage->time.wall && dir.mtime == f->stage->time.wall &&
		    dir.ctime == f->stage->time.wall);
	fixture_event_is(f, ATLOCK_EVENT_DIR_MADE, "custom/build");
}

static void missing_directory_is_not_found(void **state)
{
	struct fixture *f = *state;
	struct atlock_dir dir;

	assert_int_equal(atlock_dir_get(f->al, 1, &dir), -ENOENT);
	assert_int_equal(atlock_dir_find(f->al, 0, "build", &dir), -ENOENT);
	assert_int_equal(atlock_dir_find(f->al, 7, "build", &dir), -ENOENT);
	assert_int_equal(atlock_dir_find(f->al, 0, "a@b", &dir), -EINVAL);
	assert_int_equal(atlock_dir_make(f->al, 7, "build", &f->alice, 0755, 0, NULL, &f->why), -ENOENT);
	assert_int_equal(atlock_dir_remove(f->al, 7, "build", NULL, &f->why), -ENOENT);
	assert_int_equal(atlock_dir_remove(f->al, 0, "build", NULL, &f->why), -ENOENT);
	assert_int_equal(f->why.code, ATLOCK_LOCK_NOT_FOUND);
}

/* Who remembers an id must not meet another directory under it. */
static void ids_are_not_given_out_again(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(fixture_make(f, 0, "a"), 1);
	assert_int_equal(fixture_make(f, 1, "b"), 2);
	assert_int_equal(atlock_dir_remove(f->al, 1, "b", NULL, &f->why), 0);
	assert_int_equal(fixture_make(f, 1, "b"), 3);
	fixture_close(f);
	fixture_open(f);
	assert_int_equal(fixture_make(f, 1, "c"), 4);
}

static void damaged_counter_of_ids_stops_nothing_but_making(void **state)
{
	struct fixture *f = *state;
	struct record_key key = record_key_meta("dirs");

	fixture_make(f, 0, "a");
	stage_put(f->stage, record_key_slice(&key), slice_of("garbage"));
	assert_int_equal(atlock_dir_make(f->al, 0, "b", &f->alice, 0755, 0, NULL, &f->why), -EIO);
	assert_non_null(strstr(f->why.text, "fdirs"));
	assert_int_equal(fixture_acquire(f, 1, "lock", 60, NULL), 0);
	assert_int_equal(fixture_release(f, 1, "lock"), 0);
	assert_int_equal(atlock_check(f->al, NULL), 1);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), 0);
	f->stage->damaged = true;
}

static void custom_itself_is_there_from_the_start(void **state)
{
	struct fixture *f = *state;
	struct atlock_dir dir;

	assert_int_equal(atlock_dir_get(f->al, 0, &dir), 0);
	assert_int_equal(dir.mode, 01777);
	assert_int_equal(dir.uid, 0);
	assert_string_equal(dir.name, "");
	assert_true(dir.mtime == f->stage->time.wall);
	fixture_advance(f, 5);
	assert_int_equal(atlock_dir_get(f->al, 0, &dir), 0);
	assert_true(dir.mtime < f->stage->time.wall);
}

static void bad_names_are_refused_and_change_nothing(void **state)
{
	static const struct {
		const char *name;
		int err;
	} bad[] = {
		{ NULL, -EINVAL },  { "", -EINVAL },    { ".", -EINVAL },       { "..", -EINVAL },
		{ "-", -EINVAL },   { "a/b", -EINVAL }, { "lock@me", -EINVAL }, { "a\nb", -EINVAL },
		{ "%41", -EINVAL }, { "50%", -EINVAL }, { "%2e", -EINVAL },     { "a%00", -EINVAL },
	};
	struct fixture *f = *state;
	char name[ATLOCK_COMPONENT_MAX + 2];
	struct atlock_dir dir;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(atlock_dir_make(f->al, 0, bad[i].name, &f->alice, 0755, 0, NULL, &f->why), bad[i].err);
		assert_int_equal(f->why.code, ATLOCK_INVALID_REQUEST);
		assert_int_equal(atlock_dir_remove(f->al, 0, bad[i].name, NULL, &f->why), bad[i].err);
	}
	memset(name, 'x', sizeof(name));
	name[ATLOCK_COMPONENT_MAX + 1] = '\0';
	assert_int_equal(atlock_dir_make(f->al, 0, name, &f->alice, 0755, 0, NULL, &f->why), -ENAMETOOLONG);
	assert_int_equal(atlock_dir_get(f->al, 0, &dir), 0);
	assert_int_equal(dir.subdirs, 0);
	name[ATLOCK_COMPONENT_MAX] = '\0';
	assert_int_equal(fixture_make(f, 0, name), 1);
	fixture_make(f, 0, "%40");
	fixture_make(f, 0, "%2D");
	fixture_make(f, 0, "a:b");
	fixture_make(f, 0, " \xc3\xa9 ...");
}

static void bad_arguments_are_refused(void **state)
{
	struct fixture *f = *state;
	struct atlock_caller nobody = f->alice;
	struct atlock_dir dir;

	nobody.owner[0] = '\0';
	assert_int_equal(atlock_dir_make(f->al, 0, "a", &nobody, 0755, 0, NULL, &f->why), -EINVAL);
	assert_int_equal(atlock_dir_make(f->al, 0, "a", NULL, 0755, 0, NULL, &f->why), -EINVAL);
	assert_int_equal(atlock_dir_make(NULL, 0, "a", &f->alice, 0755, 0, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_dir_remove(NULL, 0, "a", NULL, NULL), -EINVAL);
	assert_int_equal(atlock_dir_set(f->al, 0, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_dir_get(f->al, 0, NULL), -EINVAL);
	assert_int_equal(atlock_dir_get(NULL, 0, &dir), -EINVAL);
	assert_int_equal(atlock_dir_find(f->al, 0, NULL, &dir), -EINVAL);
	assert_int_equal(atlock_dir_list(f->al, 0, NULL, NULL, NULL), -EINVAL);
}

static void directory_and_lock_cannot_share_a_name(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = fixture_make(f, 0, "a");
	struct atlock_grant grant;

	assert_int_equal(atlock_dir_make(f->al, 0, "a", &f->bob, 0755, 0, NULL, &f->why), -EEXIST);
	assert_int_equal(fixture_acquire(f, 0, "a", 60, &grant), -EISDIR);
	assert_int_equal(fixture_acquire(f, dir, "a", 60, &grant), 0);
	assert_int_equal(atlock_dir_make(f->al, dir, "a", &f->bob, 0755, 0, NULL, &f->why), -EEXIST);
	assert_int_equal(f->why.code, ATLOCK_LOCK_EXISTS);
	assert_int_equal(atlock_dir_remove(f->al, dir, "a", NULL, &f->why), -ENOTDIR);
	fixture_advance(f, 61);
	assert_int_equal(atlock_dir_remove(f->al, dir, "a", NULL, &f->why), -ENOENT);
	fixture_make(f, dir, "a");
}

static void lock_needs_its_directory(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = fixture_make(f, 0, "a");
	struct atlock_grant grant;

	assert_int_equal(fixture_acquire(f, dir + 1, "lock", 60, &grant), -ENOENT);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), 0);
	fixture_event_is(f, ATLOCK_EVENT_DIR_REMOVED, "custom/a");
	assert_int_equal(fixture_acquire(f, dir, "lock", 60, &grant), -ENOENT);
	assert_int_equal(fixture_make(f, 0, "a"), dir + 1);
	assert_int_equal(fixture_acquire(f, dir, "lock", 60, &grant), -ENOENT);
}

static void only_an_empty_directory_goes(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = fixture_make(f, 0, "a");
	struct atlock_grant grant;

	fixture_make(f, dir, "b");
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), -ENOTEMPTY);
	assert_int_equal(atlock_dir_remove(f->al, dir, "b", NULL, &f->why), 0);
	assert_int_equal(fixture_acquire(f, dir, "lock", 60, &grant), 0);
	fixture_advance(f, 60);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), -ENOTEMPTY);
	assert_string_equal(f->why.text, "not empty: custom/a/lock is held");
	fixture_advance(f, 1);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), 0);
}

static void directory_stays_while_somebody_waits_in_it(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = fixture_make(f, 0, "a");
	struct atlock_request req = { .caller = &f->bob, .priority = ATLOCK_NORMAL, .ttl = 60 * ATLOCK_SECOND };
	struct atlock_grant grant;
	struct atlock_name name;
	uint64_t ticket;

	assert_int_equal(fixture_acquire(f, dir, "lock", 60, &grant), 0);
	assert_int_equal(atlock_name_custom(dir, "lock", &name, NULL), 0);
	req.name = &name;
	assert_int_equal(atlock_enqueue(f->al, &req, &ticket, &grant, &f->why), 0);
	fixture_advance(f, 61);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), -ENOTEMPTY);
	fixture_advance(f, 600);
	atlock_run_due(f->al);
	fixture_advance(f, 600);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), 0);
}

static void directory_stays_while_a_lock_rests_in_it(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = fixture_make(f, 0, "a");
	struct atlock_grant grant;

	assert_int_equal(atlock_configure(f->al, NULL, "lock_delay", "30s", &f->why), 0);
	assert_int_equal(fixture_acquire(f, dir, "lock", 60, &grant), 0);
	fixture_advance(f, 61);
	atlock_run_due(f->al);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), -ENOTEMPTY);
	assert_int_equal(atlock_dir_make(f->al, dir, "lock", &f->bob, 0755, 0, NULL, &f->why), -EEXIST);
	fixture_advance(f, 31);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), 0);
}

static int64_t mtime_of(struct fixture *f, uint64_t id)
{
	struct atlock_dir dir;

	assert_int_equal(atlock_dir_get(f->al, id, &dir), 0);
	assert_true(dir.mtime == dir.ctime);
	return dir.mtime;
}

static void what_comes_and_goes_sets_the_times(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = fixture_make(f, 0, "a");
	int64_t made = f->stage->time.wall;
	struct atlock_grant grant;

	fixture_advance(f, 1);
	assert_int_equal(fixture_acquire(f, dir, "lock", 60, &grant), 0);
	assert_true(mtime_of(f, dir) == f->stage->time.wall);
	fixture_advance(f, 1);
	assert_int_equal(fixture_release(f, dir, "lock"), 0);
	assert_true(mtime_of(f, dir) == f->stage->time.wall);
	fixture_advance(f, 1);
	fixture_make(f, dir, "b");
	assert_true(mtime_of(f, dir) == f->stage->time.wall);
	fixture_advance(f, 1);
	assert_int_equal(atlock_dir_remove(f->al, dir, "b", NULL, &f->why), 0);
	assert_true(mtime_of(f, dir) == f->stage->time.wall);
	assert_true(mtime_of(f, 0) == made);
	assert_int_equal(fixture_acquire(f, 0, "lock", 60, &grant), 0);
	assert_true(mtime_of(f, 0) == f->stage->time.wall);
}

/* custom/ has no record of its own until then. */
static void the_first_change_is_of_custom_itself(void **state)
{
	struct atlock_dir_change change = { 01755, (uid_t)-1, (gid_t)-1, INT64_MIN, INT64_MIN };
	struct fixture *f = *state;
	struct atlock_dir dir;

	assert_int_equal(atlock_dir_set(f->al, 0, &change, NULL, &f->why), 0);
	fixture_event_is(f, ATLOCK_EVENT_DIR_CHANGED, "custom");
	assert_int_equal(atlock_dir_get(f->al, 0, &dir), 0);
	assert_int_equal(dir.mode, 01755);
}

static void attributes_are_set_one_by_one(void **state)
{
	static const struct atlock_dir_change none = { (mode_t)-1, (uid_t)-1, (gid_t)-1, INT64_MIN, INT64_MIN };
	struct fixture *f = *state;
	struct atlock_dir_change change = none;
	struct atlock_dir before;
	struct atlock_dir dir;
	uint64_t id = fixture_make(f, 0, "a");

	assert_int_equal(atlock_dir_get(f->al, id, &before), 0);
	fixture_advance(f, 1);
	change.mode = 01777 | 0040000;
	assert_int_equal(atlock_dir_set(f->al, id, &change, NULL, &f->why), 0);
	before.mode = 01777;
	before.ctime = f->stage->time.wall;
	assert_int_equal(atlock_dir_get(f->al, id, &dir), 0);
	assert_memory_equal(&dir, &before, sizeof(dir));
	fixture_event_is(f, ATLOCK_EVENT_DIR_CHANGED, "custom/a");

	change = none;
	change.uid = before.uid = 7;
	change.gid = before.gid = 8;
	change.atime = before.atime = 5;
	change.mtime = before.mtime = -5;
	assert_int_equal(atlock_dir_set(f->al, id, &change, NULL, &f->why), 0);
	assert_int_equal(atlock_dir_get(f->al, id, &dir), 0);
	assert_memory_equal(&dir, &before, sizeof(dir));

	assert_int_equal(atlock_dir_set(f->al, 0, &change, NULL, &f->why), 0);
	fixture_event_is(f, ATLOCK_EVENT_DIR_CHANGED, "custom");
	assert_int_equal(atlock_dir_get(f->al, 0, &dir), 0);
	assert_int_equal(dir.uid, 7);
	assert_int_equal(dir.mode, 01777);
	assert_int_equal(dir.subdirs, 1);
	assert_int_equal(atlock_dir_set(f->al, id + 1, &change, NULL, &f->why), -ENOENT);
}

static void list_shows_directories_and_held_locks(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = fixture_make(f, 0, "a");
	struct atlock_grant grant;
	char text[256];

	fixture_make(f, dir, "sub2");
	fixture_make(f, dir, "sub1");
	fixture_make(f, 0, "elsewhere");
	assert_int_equal(fixture_acquire(f, dir, "short", 10, &grant), 0);
	assert_int_equal(fixture_acquire(f, dir, "long", 60, &grant), 0);
	assert_int_equal(fixture_acquire(f, 0, "outside", 60, &grant), 0);
	assert_int_equal(fixture_list(f, dir, 100, text, sizeof(text)), 0);
	assert_string_equal(text, "sub1/ sub2/ long short ");
	fixture_advance(f, 11);
	assert_int_equal(fixture_list(f, dir, 100, text, sizeof(text)), 0);
	assert_string_equal(text, "sub1/ sub2/ long ");
	assert_int_equal(fixture_list(f, dir, 1, text, sizeof(text)), 0);
	assert_string_equal(text, "sub1/ ");
	assert_int_equal(fixture_list(f, 0, 100, text, sizeof(text)), 0);
	assert_string_equal(text, "a/ elsewhere/ outside ");
	assert_int_equal(fixture_list(f, 99, 100, text, sizeof(text)), -ENOENT);
}

static void full_store_refuses_to_make_and_still_removes(void **state)
{
	struct fixture *f = *state;

	fixture_make(f, 0, "a");
	mem_world_faults(f->stage->world)->max_keys = 1;
	assert_int_equal(atlock_dir_make(f->al, 0, "b", &f->alice, 0755, 0, NULL, &f->why), -EDQUOT);
	assert_int_equal(f->why.code, ATLOCK_QUOTA);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), 0);
	mem_world_faults(f->stage->world)->max_keys = 0;
}

static void failed_commit_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct atlock_dir dir;

	mem_world_faults(f->stage->world)->fail_in = 1;
	mem_world_faults(f->stage->world)->fail_error = EIO;
	assert_int_equal(atlock_dir_make(f->al, 0, "a", &f->alice, 0755, 0, NULL, &f->why), -EIO);
	assert_int_equal(atlock_dir_find(f->al, 0, "a", &dir), -ENOENT);
	assert_int_equal(fixture_make(f, 0, "a"), 1);
}

static void changes_are_announced_by_the_directory_s_own_key(void **state)
{
	struct fixture *f = *state;
	struct atlock_dir_change change = { 0700, (uid_t)-1, (gid_t)-1, INT64_MIN, INT64_MIN };
	struct atlock_name name;
	uint64_t dir = fixture_make(f, 0, "a");

	assert_int_equal(atlock_name_custom(0, "a", &name, NULL), 0);
	assert_int_equal(f->changes, 1);
	assert_true(atlock_name_equal(&f->changed, &name));
	assert_int_equal(atlock_dir_set(f->al, dir, &change, NULL, &f->why), 0);
	assert_int_equal(f->changes, 2);
	assert_true(atlock_name_equal(&f->changed, &name));
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), 0);
	assert_int_equal(f->changes, 3);
	assert_int_equal(atlock_dir_remove(f->al, 0, "a", NULL, &f->why), -ENOENT);
	assert_int_equal(f->changes, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(made_directory_is_found_by_id_and_name),
		TEST(missing_directory_is_not_found),
		TEST(ids_are_not_given_out_again),
		TEST(damaged_counter_of_ids_stops_nothing_but_making),
		TEST(custom_itself_is_there_from_the_start),
		TEST(bad_names_are_refused_and_change_nothing),
		TEST(bad_arguments_are_refused),
		TEST(directory_and_lock_cannot_share_a_name),
		TEST(lock_needs_its_directory),
		TEST(only_an_empty_directory_goes),
		TEST(directory_stays_while_somebody_waits_in_it),
		TEST(directory_stays_while_a_lock_rests_in_it),
		TEST(what_comes_and_goes_sets_the_times),
		TEST(the_first_change_is_of_custom_itself),
		TEST(attributes_are_set_one_by_one),
		TEST(list_shows_directories_and_held_locks),
		TEST(full_store_refuses_to_make_and_still_removes),
		TEST(failed_commit_changes_nothing),
		TEST(changes_are_announced_by_the_directory_s_own_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
