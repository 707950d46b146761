#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "holder.h"
#include "other_thread.h"
#include "process.h"
#include "session.h"
#include "users.h"

#define OTHER 54321 /* a uid that is not ours */

static int by_uid(void *arg, uid_t uid, char *name, size_t len)
{
	(void)arg;
	if (uid == 666)
		return -EIO;
	snprintf(name, len, "user-%u", uid);
	return 0;
}

static int groups(void *arg, const char *user, gid_t **out, size_t *count)
{
	(void)arg;
	if (strcmp(user, "user-1007") != 0)
		return 1;
	*out = malloc(sizeof(**out));
	assert_non_null(*out);
	(*out)[0] = 77;
	*count = 1;
	return 0;
}

static int group(void *arg, const char *name, gid_t *gid)
{
	(void)arg;
	if (strcmp(name, "broken") == 0)
		return -EIO;
	*gid = 77;
	return strcmp(name, "admins") != 0;
}

static struct users_source source;
static struct users *users;
static struct sessions *sessions;
static struct atlock_options options;
static struct atlock_caller caller;
static struct atlock_why why;

static int setup(void **state)
{
	(void)state;
	source = users_system;
	source.by_uid = by_uid;
	source.groups = groups;
	source.group = group;
	memset(&options, 0, sizeof(options));
	memset(&why, 0, sizeof(why));
	return sessions_new(&sessions) < 0 ? -1 : users_new(&users, &source);
}

static int teardown(void **state)
{
	(void)state;
	users_free(users);
	sessions_free(sessions);
	return 0;
}

static int identify(pid_t tid, uid_t uid, const char *who)
{
	struct session_id known = { 0 };

	return holder_identify(users, sessions, &options, tid, uid, 100, who, &known, &caller, &why);
}

static int identify_pid(pid_t tid, uid_t uid, pid_t pid)
{
	char who[32];

	snprintf(who, sizeof(who), "pid:%d", pid);
	return identify(tid, uid, who);
}

static void kind_is_told_by_the_prefix(void **state)
{
	(void)state;
	assert_int_equal(holder_kind("build-17"), HOLDER_PLAIN);
	assert_int_equal(holder_kind(""), HOLDER_PLAIN);
	assert_int_equal(holder_kind("user"), HOLDER_PLAIN);
	assert_int_equal(holder_kind("sid"), HOLDER_PLAIN);
	assert_int_equal(holder_kind("PID:1"), HOLDER_PLAIN);
	assert_int_equal(holder_kind("xpid:1"), HOLDER_PLAIN);
	assert_int_equal(holder_kind("sid:1"), HOLDER_SESSION);
	assert_int_equal(holder_kind("pid:1"), HOLDER_PROCESS);
	assert_int_equal(holder_kind("pr:1"), HOLDER_PULL);
	assert_int_equal(holder_kind("flock:1"), HOLDER_FLOCK);
}

static void open_files_and_implied_holders_are_known_by_their_who(void **state)
{
	char who[ATLOCK_WHO_MAX + 1];

	(void)state;
	atlock_who_flock(0xbeef, 17, who);
	assert_string_equal(who, "flock:0000beef-17");
	assert_true(atlock_who_is_flock(who));
	assert_false(atlock_who_is_flock("flock"));
	assert_false(atlock_who_is_flock(NULL));
	assert_true(atlock_who_is_implied("sid:17"));
	assert_true(atlock_who_is_implied("user"));
	assert_false(atlock_who_is_implied("users"));
	assert_false(atlock_who_is_implied(who));
	assert_false(atlock_who_is_implied(NULL));
}

static void number_has_one_spelling(void **state)
{
	static const char *const bad[] = { "", "0", "01", "-1", "+1", " 1", "1 ", "0x1", "1x", "99999999999999999999" };
	char who[64];
	uint64_t num;
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(who, sizeof(who), "pid:%s", bad[i]);
		assert_false(holder_pid(who, &pid));
		assert_int_equal(holder_who_check(who, &why), -EINVAL);
		assert_int_equal(atlock_caller_init(&caller, "alice", who, 1), -EINVAL);
		snprintf(who, sizeof(who), "pr:%s", bad[i]);
		assert_false(holder_pull(who, &num));
		assert_int_equal(holder_who_check(who, &why), -EINVAL);
		assert_int_equal(atlock_caller_init(&caller, "alice", who, 1), -EINVAL);
	}
	assert_true(holder_pid("pid:2147483647", &pid));
	assert_int_equal(pid, INT32_MAX);
	assert_false(holder_pid("pid:2147483648", &pid));
	assert_false(holder_pid("pr:1", &pid));
	assert_true(holder_pull("pr:9223372036854775807", &num));
	assert_true(num == INT64_MAX);
	assert_false(holder_pull("pid:1", &num));
}

static void nobody_may_pose_as_another(void **state)
{
	static const char *const reserved[] = { "sid:1", "sid:", "flock:1", "flock:", "user", "disable_apply" };

	(void)state;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		assert_int_equal(identify(getpid(), 1000, reserved[i]), -EINVAL);
		assert_int_equal(why.code, ATLOCK_INVALID_REQUEST);
		assert_non_null(strstr(why.text, "reserved"));
		assert_int_equal(identify(getpid(), 0, reserved[i]), -EINVAL);
	}
}

static void who_must_be_printable_and_fit(void **state)
{
	char longest[ATLOCK_WHO_MAX + 2];

	(void)state;
	memset(longest, 'w', sizeof(longest));
	longest[ATLOCK_WHO_MAX] = '\0';
	assert_int_equal(identify(getpid(), 1000, longest), 0);
	assert_string_equal(caller.who, longest);
	longest[ATLOCK_WHO_MAX] = 'w';
	longest[ATLOCK_WHO_MAX + 1] = '\0';
	assert_int_equal(identify(getpid(), 1000, longest), -EINVAL);
	assert_int_equal(identify(getpid(), 1000, "a\nb"), -EINVAL);
	assert_int_equal(identify(getpid(), 1000, "a\x7f"), -EINVAL);
	assert_int_equal(identify(getpid(), 1000, "b\xc3\xbc%2F user"), 0);
	assert_string_equal(caller.who, "b\xc3\xbc%2F user");
}

static void caller_by_name_is_checked(void **state)
{
	char longest[ATLOCK_OWNER_MAX + 2];

	(void)state;
	memset(longest, 'o', sizeof(longest));
	longest[ATLOCK_OWNER_MAX + 1] = '\0';
	assert_int_equal(atlock_caller_init(&caller, longest, "w", 1), -EINVAL);
	longest[ATLOCK_OWNER_MAX] = '\0';
	assert_int_equal(atlock_caller_init(&caller, longest, "w", 1), 0);
	assert_int_equal(atlock_caller_init(&caller, "", "w", 1), -EINVAL);
	assert_int_equal(atlock_caller_init(&caller, "o", "", 1), -EINVAL);
	assert_int_equal(atlock_caller_init(&caller, "o\t", "w", 1), -EINVAL);
	assert_int_equal(atlock_caller_init(&caller, "o", "w\x1b", 1), -EINVAL);
	assert_int_equal(atlock_caller_init(&caller, NULL, "w", 1), -EINVAL);
	assert_int_equal(atlock_caller_init(&caller, "o", NULL, 1), -EINVAL);
	assert_int_equal(atlock_caller_init(NULL, "o", "w", 1), -EINVAL);

	memset(&caller, 0xff, sizeof(caller));
	assert_int_equal(atlock_caller_init(&caller, "alice", "flock:7", 1000), 0);
	assert_string_equal(caller.owner, "alice");
	assert_string_equal(caller.who, "flock:7");
	assert_int_equal(caller.uid, 1000);
	assert_int_equal(caller.pid, 0);
	assert_false(caller.admin);
	assert_true(caller.bound_start == 0);
}

static void without_a_name_the_session_is_the_holder(void **state)
{
	char expected[32];
	uint64_t start = 0;

	(void)state;
	snprintf(expected, sizeof(expected), "sid:%d", getsid(0));
	(void)process_start(getsid(0), &start); /* the leader may be gone */
	assert_int_equal(identify(getpid(), 1000, ""), 0);
	assert_string_equal(caller.who, expected);
	assert_string_equal(caller.owner, "user-1000");
	assert_int_equal(caller.uid, 1000);
	assert_int_equal(caller.gid, 100);
	assert_int_equal(caller.pid, getpid());
	assert_true(caller.bound_start == start);
	assert_int_equal(identify(getpid(), 1000, NULL), 0);
	assert_string_equal(caller.who, expected);
}

static void begin_session(int tell, void *arg)
{
	(void)tell;
	(void)arg;
	setsid();
}

static void another_session_is_another_holder(void **state)
{
	struct child child = child_start(begin_session, NULL);
	char expected[32];

	(void)state;
	snprintf(expected, sizeof(expected), "sid:%d", child.pid);
	assert_int_equal(identify(child.pid, 1000, ""), 0);
	assert_string_equal(caller.who, expected);
	child_wait(&child);
	assert_int_equal(identify(child.pid, 1000, ""), -EINVAL);
}

static void identity_user_makes_one_holder_of_a_user(void **state)
{
	(void)state;
	options.identity = ATLOCK_IDENTITY_USER;
	assert_int_equal(identify(getpid(), 1000, ""), 0);
	assert_string_equal(caller.who, "user");
	assert_int_equal(identify(getpid(), 1000, "build-17"), 0);
	assert_string_equal(caller.who, "build-17");
	assert_int_equal(identify(0, 1000, ""), 0);
	assert_string_equal(caller.who, "user");
}

static void unseen_process_must_name_itself(void **state)
{
	(void)state;
	assert_int_equal(identify(0, 1000, ""), -EINVAL);
	assert_int_equal(why.code, ATLOCK_INVALID_REQUEST);
	assert_string_equal(why.text, "your process is not visible from here (another pid namespace): "
				      "name yourself, as in NAME@build-17");
	assert_int_equal(identify_pid(0, 1000, getpid()), -EINVAL);
	assert_int_equal(identify_pid(0, 0, 1), -EINVAL);
	assert_int_equal(identify(0, 1000, "build-17"), 0);
	assert_int_equal(caller.pid, 0);
	assert_int_equal(identify(0, 1000, "pr:5"), 0);
}

static void administrators_are_root_and_the_group(void **state)
{
	(void)state;
	assert_int_equal(identify(getpid(), 0, "w"), 0);
	assert_true(caller.admin);
	assert_int_equal(identify(getpid(), 1007, "w"), 0);
	assert_false(caller.admin);
	snprintf(options.admin_group, sizeof(options.admin_group), "admins");
	assert_int_equal(identify(getpid(), 1007, "w"), 0);
	assert_true(caller.admin);
	assert_int_equal(identify(getpid(), 1008, "w"), 0);
	assert_false(caller.admin);
	snprintf(options.admin_group, sizeof(options.admin_group), "broken");
	assert_int_equal(identify(getpid(), 1007, "w"), 0);
	assert_false(caller.admin);
}

static void user_nobody_can_tell_is_refused(void **state)
{
	(void)state;
	assert_int_equal(identify(getpid(), 666, "w"), -EIO);
	assert_int_equal(why.code, ATLOCK_BACKEND_ERROR);
}

static void process_may_bind_to_itself_and_its_ancestors(void **state)
{
	struct child child = child_start(NULL, NULL);
	struct process self;

	(void)state;
	assert_int_equal(process_read(getpid(), &self), 0);
	assert_int_equal(identify_pid(child.pid, getuid(), getpid()), 0);
	assert_true(caller.bound_start == self.start);
	assert_int_equal(caller.pid, child.pid);
	assert_int_equal(identify_pid(child.pid, getuid(), child.pid), 0);
	assert_int_equal(process_read(child.pid, &self), 0);
	assert_true(caller.bound_start == self.start);
	child_wait(&child);
}

static void process_may_not_bind_to_others(void **state)
{
	struct child child = child_start(NULL, NULL);

	(void)state;
	assert_int_equal(identify_pid(getpid(), getuid(), child.pid), -EPERM);
	assert_int_equal(why.code, ATLOCK_PERMISSION_DENIED);
	assert_int_equal(identify_pid(getpid(), 0, child.pid), -EPERM);
	assert_int_equal(identify_pid(child.pid, getuid(), INT32_MAX), -EPERM);
	child_wait(&child);
	assert_int_equal(identify_pid(child.pid, getuid(), getpid()), -EPERM);
}

static void ancestor_of_another_user_is_for_root_only(void **state)
{
	struct child child = child_start(NULL, NULL);

	(void)state;
	assert_int_equal(identify_pid(child.pid, OTHER, getpid()), -EPERM);
	assert_non_null(strstr(why.text, "another user"));
	assert_int_equal(identify_pid(child.pid, OTHER, child.pid), 0); /* itself, whatever uid it acts under */
	assert_int_equal(identify_pid(child.pid, 0, getpid()), 0);
	child_wait(&child);
}

static void thread_binds_to_its_process(void **state)
{
	struct other_thread thread;
	struct process self;

	(void)state;
	other_thread_start(&thread);
	assert_int_equal(process_read(getpid(), &self), 0);
	assert_int_equal(identify_pid(thread.tid, getuid(), getpid()), 0);
	assert_int_equal(caller.pid, getpid());
	assert_true(caller.bound_start == self.start);
	assert_int_equal(identify_pid(thread.tid, getuid(), thread.tid), -EPERM);
	other_thread_end(&thread);
}

static void enter_namespace(int tell, void *arg)
{
	pid_t pid = -1;

	(void)arg;
	if (unshare(CLONE_NEWPID) == 0)
		pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	if (write(tell, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
}

static char outer[ATLOCK_WHO_MAX + 1];

static int outer_who(pid_t tid, const char *who)
{
	struct atlock_why ignored;

	(void)snprintf(outer, sizeof(outer), "%s", who);
	return atlock_who_outer(tid, outer, &ignored);
}

/* It is 1 to itself, and 1 here is an ancestor of every process. */
static void pid_of_a_nested_namespace_is_never_guessed(void **state)
{
	struct child child = child_start(enter_namespace, NULL);
	char who[32];
	pid_t inner;

	(void)state;
	assert_int_equal(read(child.told, &inner, sizeof(inner)), sizeof(inner));
	if (inner < 0) {
		child_wait(&child);
		skip();
	}
	assert_int_equal(outer_who(inner, "pid:1"), 0);
	(void)snprintf(who, sizeof(who), "pid:%d", inner);
	assert_string_equal(outer, who);
	assert_int_equal(identify_pid(inner, 0, inner), 0);
	assert_int_equal(outer_who(inner, who), -EPERM);
	assert_int_equal(outer_who(inner, "build-17"), 0);
	assert_string_equal(outer, "build-17");
	assert_int_equal(outer_who(getpid(), "pid:1"), 0);
	assert_string_equal(outer, "pid:1");
	assert_int_equal(identify(inner, 0, ""), 0);
	assert_int_equal(identify(inner, 0, "build-17"), 0);
	kill(inner, SIGKILL);
	child_wait(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kind_is_told_by_the_prefix),
		cmocka_unit_test(open_files_and_implied_holders_are_known_by_their_who),
		cmocka_unit_test(number_has_one_spelling),
		cmocka_unit_test(caller_by_name_is_checked),
		cmocka_unit_test_setup_teardown(nobody_may_pose_as_another, setup, teardown),
		cmocka_unit_test_setup_teardown(who_must_be_printable_and_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_name_the_session_is_the_holder, setup, teardown),
		cmocka_unit_test_setup_teardown(another_session_is_another_holder, setup, teardown),
		cmocka_unit_test_setup_teardown(identity_user_makes_one_holder_of_a_user, setup, teardown),
		cmocka_unit_test_setup_teardown(unseen_process_must_name_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(administrators_are_root_and_the_group, setup, teardown),
		cmocka_unit_test_setup_teardown(user_nobody_can_tell_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(process_may_bind_to_itself_and_its_ancestors, setup, teardown),
		cmocka_unit_test_setup_teardown(process_may_not_bind_to_others, setup, teardown),
		cmocka_unit_test_setup_teardown(ancestor_of_another_user_is_for_root_only, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_binds_to_its_process, setup, teardown),
		cmocka_unit_test_setup_teardown(pid_of_a_nested_namespace_is_never_guessed, setup, teardown),
	};

	child_session();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
