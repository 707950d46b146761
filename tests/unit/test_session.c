/* Which session a number means, as long as there is a way to tell. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "process.h"
#include "session.h"

static struct sessions *sessions;

static int setup(void **state)
{
	(void)state;
	return sessions_new(&sessions);
}

static int teardown(void **state)
{
	(void)state;
	sessions_free(sessions);
	return 0;
}

static void begin_session(int tell, void *arg)
{
	(void)tell, (void)arg;
	setsid();
}

/* And leaves somebody in it. */
static void begin_session_with_a_member(int tell, void *arg)
{
	pid_t member;

	(void)arg;
	setsid();
	member = fork();
	if (member == 0) {
		for (;;)
			pause();
	}
	(void)!write(tell, &member, sizeof(member));
}

static void start_is_the_leaders(void **state)
{
	struct child child = child_start(begin_session, NULL);
	uint64_t start = 0;

	(void)state;
	assert_int_equal(process_start(child.pid, &start), 0);
	assert_true(start > 0);
	assert_true(sessions_start(sessions, child.pid) == start);
	assert_true(sessions_start(sessions, child.pid) == start);
	/* A zombie still has the number. */
	child_kill(&child);
	assert_true(sessions_start(sessions, child.pid) == start);
	child_wait(&child);
}

static void session_outlives_its_leader(void **state)
{
	struct child child = child_start(begin_session_with_a_member, NULL);
	uint64_t start = sessions_start(sessions, child.pid);
	pid_t member = 0;

	(void)state;
	assert_int_equal(read(child.told, &member, sizeof(member)), sizeof(member));
	assert_true(start > 0);
	child_wait(&child);
	assert_int_equal(getsid(member), child.pid);
	assert_true(sessions_start(sessions, child.pid) == start);
	assert_int_equal(kill(member, SIGKILL), 0);
}

static void start_of_a_leader_never_seen_is_unknown(void **state)
{
	struct child child = child_start(begin_session_with_a_member, NULL);
	pid_t member = 0;

	(void)state;
	assert_int_equal(read(child.told, &member, sizeof(member)), sizeof(member));
	child_wait(&child);
	assert_true(sessions_start(sessions, child.pid) == 0);
	assert_int_equal(kill(member, SIGKILL), 0);
}

/* Two that share a slot push each other out and are told apart all the same. */
static void more_sessions_than_are_remembered(void **state)
{
	struct child child = child_start(begin_session, NULL);
	uint64_t start = 0;

	(void)state;
	assert_int_equal(process_start(child.pid, &start), 0);
	assert_true(sessions_start(sessions, child.pid) == start);
	assert_true(sessions_start(sessions, child.pid + SESSION_SLOTS * 100000) == 0);
	assert_true(sessions_start(sessions, child.pid) == start);
	child_wait(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(start_is_the_leaders, setup, teardown),
		cmocka_unit_test_setup_teardown(session_outlives_its_leader, setup, teardown),
		cmocka_unit_test_setup_teardown(start_of_a_leader_never_seen_is_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(more_sessions_than_are_remembered, setup, teardown),
	};

	child_session();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
