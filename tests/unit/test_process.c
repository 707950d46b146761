#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "other_thread.h"
#include "process.h"

#define FIELDS_5_TO_21 "5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21"

static void stat_text_is_parsed_whatever_the_name(void **state)
{
	static const char *const names[] = {
		"sh", "", "a b", ")", "(", ") S 1 2 3", "a)\n(b", "1) Z 9 (2",
	};
	char text[256];
	pid_t parent;
	uint64_t start;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "77 (%s) S 42 " FIELDS_5_TO_21 " 18446744073709551615 23 24\n", names[i]);
		assert_int_equal(process_parse_stat(text, &parent, &start), 0);
		assert_int_equal(parent, 42);
		assert_true(start == UINT64_MAX);
	}
}

static void stat_text_that_is_none_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"77",
		"77 (sh",
		"77 (sh)",
		"77 (sh) S",
		"77 (sh) S x",
		"77 (sh) S 42 " FIELDS_5_TO_21,
		"77 (sh) S 42 " FIELDS_5_TO_21 " x",
	};
	pid_t parent;
	uint64_t start;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(process_parse_stat(texts[i], &parent, &start), -EBADMSG);
}

static void reads_own_process(void **state)
{
	struct process self;

	(void)state;
	assert_int_equal(process_read(getpid(), &self), 0);
	assert_int_equal(self.pid, getpid());
	assert_int_equal(self.parent, getppid());
	assert_int_equal(self.uid, getuid());
	assert_int_equal(self.euid, geteuid());
	assert_true(self.start > 0);
	assert_int_equal(self.depth, 1);
	assert_int_equal(self.inner, getpid());
}

static void take_a_bad_name(int tell, void *arg)
{
	(void)tell;
	prctl(PR_SET_NAME, arg);
}

static void reads_process_with_parentheses_in_its_name(void **state)
{
	struct child child = child_start(take_a_bad_name, ") S 1 1\n(x)");
	struct process self;
	struct process other;

	(void)state;
	assert_int_equal(process_read(getpid(), &self), 0);
	assert_int_equal(process_read(child.pid, &other), 0);
	assert_int_equal(other.pid, child.pid);
	assert_int_equal(other.parent, getpid());
	assert_true(other.start >= self.start);
	child_wait(&child);
}

static void no_process_is_no_process(void **state)
{
	struct child child = child_start(NULL, NULL);
	struct process out;

	(void)state;
	child_wait(&child);
	assert_int_equal(process_read(child.pid, &out), -ESRCH);
	assert_int_equal(process_read(INT32_MAX, &out), -ESRCH);
	assert_int_equal(process_read(0, &out), -ENXIO);
	assert_int_equal(process_read(-1, &out), -ENXIO);
}

static void thread_leads_to_its_process(void **state)
{
	struct other_thread thread;
	struct process self;
	struct process out;
	pid_t session;

	(void)state;
	other_thread_start(&thread);

	assert_int_not_equal(thread.tid, getpid());
	assert_int_equal(process_read(getpid(), &self), 0);
	assert_int_equal(process_read(thread.tid, &out), 0);
	assert_int_equal(out.pid, getpid());
	assert_true(out.start == self.start);
	assert_int_equal(process_session(thread.tid, &session), 0);
	assert_int_equal(session, getsid(0));
	assert_int_equal(process_pidfd(thread.tid, self.start), -ESRCH);

	other_thread_end(&thread);
}

static void begin_session(int tell, void *arg)
{
	(void)tell;
	(void)arg;
	setsid();
}

static void session_is_that_of_the_thread_asked_for(void **state)
{
	struct child child = child_start(begin_session, NULL);
	pid_t session;

	(void)state;
	assert_int_equal(process_session(child.pid, &session), 0);
	assert_int_equal(session, child.pid);
	child_wait(&child);
	assert_int_equal(process_session(child.pid, &session), -ESRCH);
}

static void session_of_nobody_is_not_our_own(void **state)
{
	pid_t session = -7;

	(void)state;
	assert_int_equal(process_session(0, &session), -ENXIO);
	assert_int_equal(process_session(-1, &session), -ENXIO);
	assert_int_equal(session, -7);
}

static void tell_grandchild(int tell, void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	if (write(tell, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	(void)arg;
}

static void ancestors_are_found_and_others_are_not(void **state)
{
	struct child child = child_start(tell_grandchild, NULL);
	struct child sibling = child_start(NULL, NULL);
	struct process grandchild;
	struct process out;
	pid_t pid;

	(void)state;
	assert_int_equal(read(child.told, &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(process_read(pid, &grandchild), 0);
	assert_int_equal(process_ancestor(&grandchild, pid, &out), 0);
	assert_true(out.start == grandchild.start);
	assert_int_equal(process_ancestor(&grandchild, child.pid, &out), 0);
	assert_int_equal(out.pid, child.pid);
	assert_int_equal(process_ancestor(&grandchild, getpid(), &out), 0);
	assert_int_equal(out.pid, getpid());
	assert_int_equal(process_ancestor(&grandchild, sibling.pid, &out), 1);
	assert_int_equal(process_ancestor(&grandchild, INT32_MAX, &out), 1);

	kill(pid, SIGKILL);
	child_wait(&child);
	child_wait(&sibling);
}

static void parent_younger_than_its_child_is_recycled(void **state)
{
	struct child child = child_start(NULL, NULL);
	struct process before;
	struct process out;

	(void)state;
	assert_int_equal(process_read(child.pid, &before), 0);
	before.start = 0; /* as if it were older than whoever has its parent's pid now */
	assert_int_equal(process_ancestor(&before, getpid(), &out), -ESRCH);
	child_wait(&child);
}

static void parent_that_died_meanwhile_is_looked_up_again(void **state)
{
	struct child dead = child_start(NULL, NULL);
	struct process before;
	struct process out;

	(void)state;
	child_wait(&dead);
	assert_int_equal(process_read(getpid(), &before), 0);
	before.parent = dead.pid; /* what was read before it died */
	assert_int_equal(process_ancestor(&before, getppid(), &out), 0);
	assert_int_equal(out.pid, getppid());
}

static void pidfd_tells_when_its_process_is_gone(void **state)
{
	struct child child = child_start(NULL, NULL);
	struct pollfd ready = { .events = POLLIN };
	struct process out;

	(void)state;
	assert_int_equal(process_read(child.pid, &out), 0);
	ready.fd = process_pidfd(child.pid, out.start);
	assert_true(ready.fd >= 0);
	assert_int_equal(fcntl(ready.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(poll(&ready, 1, 0), 0);
	child_kill(&child);
	assert_int_equal(poll(&ready, 1, -1), 1);
	close(ready.fd);

	assert_int_equal(process_pidfd(child.pid, out.start), -ESRCH); /* a zombie */
	child_wait(&child);
	assert_int_equal(process_pidfd(child.pid, out.start), -ESRCH);
}

static void pidfd_of_a_recycled_pid_is_refused(void **state)
{
	struct process self;

	(void)state;
	assert_int_equal(process_read(getpid(), &self), 0);
	assert_int_equal(process_pidfd(getpid(), self.start - 1), -ESRCH);
	assert_int_equal(process_pidfd(getpid(), self.start + 1), -ESRCH);
	assert_int_equal(process_pidfd(0, self.start), -ESRCH);
	assert_int_equal(process_pidfd(-1, self.start), -ESRCH);
}

/* Makes a first process in a new pid namespace, which tells what it sees; tells its pid here, or -1. */
static void enter_namespace(int tell, void *arg)
{
	struct process out;
	pid_t pid = -1;
	int err;

	(void)arg;
	if (unshare(CLONE_NEWPID) == 0)
		pid = fork();
	if (pid == 0) {
		err = process_read(1, &out); /* /proc is still that of the namespace above */
		if (write(tell, &err, sizeof(err)) != sizeof(err))
			_exit(1);
		pause();
	}
	if (write(tell, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
}

static void process_of_a_nested_namespace_is_seen_as_such(void **state)
{
	struct child child = child_start(enter_namespace, NULL);
	struct process found;
	struct process out;
	int told[2];

	(void)state;
	assert_int_equal(read(child.told, &told[0], sizeof(int)), sizeof(int));
	if (told[0] == -1) {
		child_wait(&child);
		skip();
	}
	assert_int_equal(read(child.told, &told[1], sizeof(int)), sizeof(int));
	if (told[0] < 0) { /* the two write in any order */
		int inner = told[0];

		told[0] = told[1];
		told[1] = inner;
	}
	assert_int_equal(told[1], -ENXIO);
	assert_int_equal(process_read(told[0], &out), 0);
	assert_int_equal(out.depth, 2);
	assert_int_equal(out.inner, 1);
	assert_int_equal(process_inner_ancestor(&out, 1, &found), 0);
	assert_int_equal(found.pid, told[0]); /* not our own 1 */
	assert_int_equal(process_inner_ancestor(&out, 2, &found), 1);
	assert_int_equal(out.parent, child.pid);
	kill(told[0], SIGKILL);
	child_wait(&child);
}

static void boot_tag_stays(void **state)
{
	uint32_t a = 0;
	uint32_t b = 0;

	(void)state;
	assert_int_equal(process_boot_tag(&a), 0);
	assert_int_equal(process_boot_tag(&b), 0);
	assert_int_equal(a, b);
	assert_int_not_equal(a, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_text_is_parsed_whatever_the_name),
		cmocka_unit_test(stat_text_that_is_none_is_refused),
		cmocka_unit_test(reads_own_process),
		cmocka_unit_test(reads_process_with_parentheses_in_its_name),
		cmocka_unit_test(no_process_is_no_process),
		cmocka_unit_test(thread_leads_to_its_process),
		cmocka_unit_test(session_is_that_of_the_thread_asked_for),
		cmocka_unit_test(session_of_nobody_is_not_our_own),
		cmocka_unit_test(ancestors_are_found_and_others_are_not),
		cmocka_unit_test(parent_younger_than_its_child_is_recycled),
		cmocka_unit_test(parent_that_died_meanwhile_is_looked_up_again),
		cmocka_unit_test(pidfd_tells_when_its_process_is_gone),
		cmocka_unit_test(pidfd_of_a_recycled_pid_is_refused),
		cmocka_unit_test(process_of_a_nested_namespace_is_seen_as_such),
		cmocka_unit_test(boot_tag_stays),
	};

	child_session();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
