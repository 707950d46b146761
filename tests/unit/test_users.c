#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "users.h"

/* A data base with one user, who is in one group. */
struct base {
	int64_t now;
	int asked;
	int err; /* 0: it answers */
	uid_t uid;
	const char *name;
	const char *group;
};

static int base_by_uid(void *arg, uid_t uid, char *name, size_t len)
{
	struct base *it = arg;

	it->asked++;
	if (it->err != 0)
		return it->err;
	if (uid != it->uid)
		return 1;
	snprintf(name, len, "%s", it->name);
	return 0;
}

static int base_by_name(void *arg, const char *name, uid_t *uid, gid_t *gid)
{
	struct base *it = arg;

	it->asked++;
	if (it->err != 0)
		return it->err;
	*uid = it->uid;
	*gid = 7;
	return strcmp(name, it->name) != 0;
}

/* Groups are numbered by their first letter. */
static int base_groups(void *arg, const char *user, gid_t **out, size_t *count)
{
	struct base *it = arg;

	it->asked++;
	if (it->err != 0)
		return it->err;
	if (strcmp(user, it->name) != 0)
		return 1;
	*out = malloc(2 * sizeof(**out));
	assert_non_null(*out);
	(*out)[0] = 7;
	(*out)[1] = (gid_t)it->group[0];
	*count = 2;
	return 0;
}

static int base_group(void *arg, const char *group, gid_t *gid)
{
	struct base *it = arg;

	it->asked++;
	if (it->err != 0)
		return it->err;
	*gid = (gid_t)group[0];
	return strcmp(group, "nowhere") == 0;
}

static int64_t base_now(void *arg)
{
	return ((struct base *)arg)->now;
}

static struct base base;
static const struct users_source source = { base_by_uid, base_by_name, base_groups, base_group, base_now, &base };

static int setup(void **state)
{
	base = (struct base){ .now = 1, .uid = 1000, .name = "alice", .group = "admins" };
	return users_new((struct users **)state, &source);
}

static int teardown(void **state)
{
	users_free(*state);
	return 0;
}

static void assert_name(struct users *users, uid_t uid, const char *expected)
{
	char name[ATLOCK_OWNER_MAX + 1];

	assert_int_equal(users_name(users, uid, name), 0);
	assert_string_equal(name, expected);
}

static void name_is_asked_for_once(void **state)
{
	for (int i = 0; i < 5; i++)
		assert_name(*state, 1000, "alice");
	assert_int_equal(base.asked, 1);
}

static void renamed_user_appears_after_a_while(void **state)
{
	assert_name(*state, 1000, "alice");
	base.name = "alicia";
	base.now += USERS_KEEP - 1;
	assert_name(*state, 1000, "alice");
	base.now += 1;
	assert_name(*state, 1000, "alicia");
}

static void unknown_user_is_a_number(void **state)
{
	assert_name(*state, 0, "uid:0");
	assert_name(*state, 1001, "uid:1001");
	assert_name(*state, 1001, "uid:1001");
	assert_name(*state, UINT32_MAX, "uid:4294967295");
	assert_int_equal(base.asked, 3);
}

static void name_that_cannot_be_an_owner_is_a_number(void **state)
{
	static const char *const names[] = { "", "uid:0", "a\nb", "a\x7f" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		base.name = names[i];
		base.now += USERS_KEEP;
		assert_name(*state, 1000, "uid:1000");
	}
}

static void users_that_share_a_slot_are_kept_apart(void **state)
{
	for (int i = 0; i < 3; i++) {
		assert_name(*state, 1000, "alice");
		assert_int_equal(users_in_group(*state, 1000, "admins"), 0);
		assert_name(*state, 1000 + USERS_SLOTS, "uid:2024");
		assert_int_equal(users_in_group(*state, 1000 + USERS_SLOTS, "admins"), 1);
	}
}

static void failing_data_base_changes_nobody(void **state)
{
	char name[ATLOCK_OWNER_MAX + 1];

	assert_name(*state, 1000, "alice");
	assert_int_equal(users_in_group(*state, 1000, "admins"), 0);
	base.err = -EIO;
	base.now += USERS_KEEP;
	assert_name(*state, 1000, "alice");
	assert_int_equal(users_in_group(*state, 1000, "admins"), 0);
	assert_int_equal(users_name(*state, 1001, name), -EIO);
	assert_int_equal(users_in_group(*state, 1001, "admins"), -EIO);
	base.err = 0;
	base.name = "alicia";
	base.now += USERS_KEEP;
	assert_name(*state, 1000, "alicia");
}

static void failing_data_base_is_not_asked_at_every_call(void **state)
{
	assert_name(*state, 1000, "alice");
	base.err = -EIO;
	base.now += USERS_KEEP;
	base.asked = 0;
	for (int i = 0; i < 5; i++)
		assert_name(*state, 1000, "alice");
	assert_int_equal(base.asked, 1);
}

static void membership_is_remembered_per_group(void **state)
{
	assert_int_equal(users_in_group(*state, 1000, "admins"), 0);
	base.asked = 0;
	assert_int_equal(users_in_group(*state, 1000, "admins"), 0);
	assert_int_equal(base.asked, 0);
	/* Each group costs one question, whoever asks, and each user one, whatever the group. */
	assert_int_equal(users_in_group(*state, 1000, "others"), 1);
	assert_int_equal(users_in_group(*state, 1000, "nowhere"), 1);
	assert_int_equal(users_in_group(*state, 1000, "nowhere"), 1);
	assert_int_equal(users_in_group(*state, 1000, "admins"), 0);
	assert_int_equal(base.asked, 2);
	base.group = "others";
	base.now += USERS_KEEP;
	assert_int_equal(users_in_group(*state, 1000, "admins"), 1);
}

static void no_group_has_no_members(void **state)
{
	char longest[256];

	base.group = "";
	assert_int_equal(users_in_group(*state, 1000, ""), 1);
	memset(longest, 'g', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(users_in_group(*state, 1000, longest), 1);
	assert_int_equal(base.asked, 0);
}

static void list_has_users_and_groups(void **state)
{
	static const struct {
		const char *list;
		bool has;
	} cases[] = {
		{ "", false },           { "alice", true },     { "alic", false },      { "alice2", false },
		{ "bob alice", true },   { "bob,alice", true }, { " , alice ,", true }, { "@admins", true },
		{ "bob @admins", true }, { "@others", false },  { "@", false },         { "@alice", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(users_listed(*state, 1000, "alice", cases[i].list), cases[i].has);
	base.err = -EIO;
	assert_false(users_listed(*state, 1001, "bob", "@admins"));
}

static void user_is_found_by_name_or_number(void **state)
{
	uid_t uid;
	gid_t gid;

	assert_int_equal(users_find(*state, "alice", &uid, &gid), 0);
	assert_int_equal(uid, 1000);
	assert_int_equal(gid, 7);
	assert_int_equal(users_find(*state, "bob", &uid, &gid), 1);
	assert_int_equal(users_find(*state, "uid:1234", &uid, &gid), 0);
	assert_int_equal(uid, 1234);
	assert_int_equal(users_find(*state, "uid:0", &uid, &gid), 0);
	assert_int_equal(uid, 0);
	base.err = -EIO;
	assert_int_equal(users_find(*state, "alice", &uid, &gid), -EIO);
}

static void misspelled_number_is_nobody(void **state)
{
	static const char *const names[] = {
		"",
		"uid:",
		"uid:x",
		"uid:1x",
		"uid: 1",
		"uid:+1",
		"uid:-1",
		"uid:01",
		"uid:00",
		"uid:4294967295",
		"uid:99999999999999999999",
	};
	uid_t uid;
	gid_t gid;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(users_find(*state, names[i], &uid, &gid), 1);
}

static void system_knows_root(void **state)
{
	struct users *users;
	struct group *group = getgrgid(0);
	char name[ATLOCK_OWNER_MAX + 1];
	uid_t uid = 1;
	gid_t gid = 1;

	(void)state;
	assert_int_equal(users_new(&users, NULL), 0);
	assert_int_equal(users_name(users, 0, name), 0);
	assert_string_equal(name, "root");
	assert_int_equal(users_find(users, "root", &uid, &gid), 0);
	assert_int_equal(uid, 0);
	assert_int_equal(gid, 0);
	assert_int_equal(users_find(users, "no such user", &uid, &gid), 1);
	assert_non_null(group);
	assert_int_equal(users_in_group(users, 0, group->gr_name), 0);
	assert_int_equal(users_in_group(users, 0, "no such group"), 1);
	assert_int_equal(users_in_group(users, UINT32_MAX - 5, group->gr_name), 1);
	users_free(users);
}

static void *ask_many(void *arg)
{
	char name[ATLOCK_OWNER_MAX + 1];

	for (uid_t i = 0; i < 2000; i++) {
		uid_t uid = 100000 + i % 3 * USERS_SLOTS;
		char expected[32];

		snprintf(expected, sizeof(expected), "uid:%u", uid);
		if (users_name(arg, uid, name) != 0 || strcmp(name, expected) != 0)
			return arg;
	}
	return NULL;
}

static int nobody_by_uid(void *arg, uid_t uid, char *name, size_t len)
{
	(void)arg;
	(void)uid;
	(void)name;
	(void)len;
	return 1;
}

static void threads_may_fight_for_a_slot(void **state)
{
	struct users_source nobody = users_system;
	struct users *users;
	pthread_t ids[4];
	void *failed;

	(void)state;
	nobody.by_uid = nobody_by_uid;
	assert_int_equal(users_new(&users, &nobody), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, ask_many, users), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(ids[i], &failed);
		assert_null(failed);
	}
	users_free(users);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(name_is_asked_for_once, setup, teardown),
		cmocka_unit_test_setup_teardown(renamed_user_appears_after_a_while, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_user_is_a_number, setup, teardown),
		cmocka_unit_test_setup_teardown(name_that_cannot_be_an_owner_is_a_number, setup, teardown),
		cmocka_unit_test_setup_teardown(users_that_share_a_slot_are_kept_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(failing_data_base_changes_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(failing_data_base_is_not_asked_at_every_call, setup, teardown),
		cmocka_unit_test_setup_teardown(membership_is_remembered_per_group, setup, teardown),
		cmocka_unit_test_setup_teardown(no_group_has_no_members, setup, teardown),
		cmocka_unit_test_setup_teardown(list_has_users_and_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(user_is_found_by_name_or_number, setup, teardown),
		cmocka_unit_test_setup_teardown(misspelled_number_is_nobody, setup, teardown),
		cmocka_unit_test(system_knows_root),
		cmocka_unit_test(threads_may_fight_for_a_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
