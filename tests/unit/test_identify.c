/* Who a living process is, from one call to the next: what is remembered of it must not outlive what it was. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "process.h"
#include "stage.h"

static struct atlock_caller identified(struct stage *s, pid_t tid, const char *who)
{
	struct atlock_caller caller;

	assert_int_equal(atlock_identify(s->al, tid, getuid(), getgid(), who, &caller, &s->why), 0);
	atlock_caller_look(s->al, &caller);
	return caller;
}

static void assert_session(const struct atlock_caller *caller, pid_t session, uint64_t start)
{
	char who[32];

	(void)snprintf(who, sizeof(who), "sid:%d", session);
	assert_string_equal(caller->who, who);
	assert_int_equal(caller->session, session);
	assert_true(caller->bound_start == start);
}

static void stay(int tell, void *arg)
{
	(void)tell, (void)arg;
}

/* Begins a session when told to. */
static void on_signal(int number)
{
	(void)number;
	(void)setsid();
}

static void leave_when_told(int tell, void *arg)
{
	(void)tell, (void)arg;
	(void)prctl(PR_SET_NAME, "born");
	(void)signal(SIGUSR1, on_signal);
}

static void a_process_that_leaves_its_session_is_in_the_new_one(void **state)
{
	struct stage *s = *state;
	struct child child = child_start(leave_when_told, NULL);
	struct atlock_caller caller;
	uint64_t leader = 0;
	uint64_t start = 0;

	assert_int_equal(process_start(child.pid, &start), 0);
	for (int i = 0; i < 3; i++) {
		caller = identified(s, child.pid, "");
		if (process_start(getsid(0), &leader) == 0)
			assert_session(&caller, getsid(0), leader);
		assert_string_equal(caller.comm, "born");
	}
	assert_int_equal(kill(child.pid, SIGUSR1), 0);
	while (getsid(child.pid) != child.pid)
		usleep(1000);
	for (int i = 0; i < 3; i++) {
		caller = identified(s, child.pid, "");
		assert_session(&caller, child.pid, start);
	}
	caller = identified(s, child.pid, "build-17");
	assert_string_equal(caller.who, "build-17");
	assert_int_equal(caller.session, child.pid);
	assert_true(caller.bound_start == 0);
	child_wait(&child);
}

static void begin_session_with_a_member(int tell, void *arg)
{
	pid_t member;

	(void)arg;
	(void)setsid();
	member = fork();
	while (member == 0)
		pause();
	(void)!write(tell, &member, sizeof(member));
}

static void a_session_stays_the_same_when_its_leader_is_gone(void **state)
{
	struct stage *s = *state;
	struct child child = child_start(begin_session_with_a_member, NULL);
	struct atlock_caller caller;
	uint64_t start = 0;
	pid_t member = 0;

	assert_int_equal(read(child.told, &member, sizeof(member)), sizeof(member));
	assert_int_equal(process_start(child.pid, &start), 0);
	caller = identified(s, member, "");
	assert_session(&caller, child.pid, start);
	child_wait(&child);
	for (int i = 0; i < 3; i++) {
		caller = identified(s, member, "");
		assert_session(&caller, child.pid, start);
	}
	assert_int_equal(kill(member, SIGKILL), 0);
}

static void two_of_one_session_are_one_holder(void **state)
{
	struct stage *s = *state;
	struct child one = child_start(stay, NULL);
	struct child two = child_start(stay, NULL);
	struct atlock_caller first = identified(s, one.pid, "");
	struct atlock_caller second = identified(s, two.pid, "");

	assert_string_equal(first.who, second.who);
	assert_true(first.bound_start == second.bound_start);
	assert_int_not_equal(first.pid, second.pid);
	child_wait(&one);
	child_wait(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(a_process_that_leaves_its_session_is_in_the_new_one),
		STAGED(a_session_stays_the_same_when_its_leader_is_gone),
		STAGED(two_of_one_session_are_one_holder),
	};

	child_session();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
