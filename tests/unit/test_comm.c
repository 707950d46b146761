/* What processes call themselves, from files that stay open. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "comm.h"

static struct comms *comms;

static int setup(void **state)
{
	(void)state;
	return comms_new(&comms);
}

static int teardown(void **state)
{
	(void)state;
	comms_free(comms);
	return 0;
}

static void call_itself(int tell, void *arg)
{
	(void)tell;
	(void)prctl(PR_SET_NAME, arg);
}

static void assert_called(pid_t pid, const char *name)
{
	struct session_id session;
	char comm[16];

	assert_int_equal(comms_read(comms, pid, comm, &session), 0);
	assert_string_equal(comm, name);
}

static void a_name_is_the_one_it_has_now(void **state)
{
	char before[16];

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	assert_called(getpid(), before);
	assert_int_equal(prctl(PR_SET_NAME, "other"), 0);
	assert_called(getpid(), "other");
	assert_int_equal(prctl(PR_SET_NAME, "fifteen-bytes-a"), 0);
	assert_called(getpid(), "fifteen-bytes-a");
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
	assert_called(getpid(), before);
}

static void whoever_is_gone_has_none(void **state)
{
	struct child child = child_start(call_itself, "short-lived");
	struct session_id session;
	char comm[16];

	(void)state;
	assert_called(child.pid, "short-lived");
	child_wait(&child);
	assert_int_equal(comms_read(comms, child.pid, comm, &session), -ESRCH);
	assert_int_equal(comms_read(comms, child.pid, comm, &session), -ESRCH);
	assert_int_equal(comms_read(comms, 0, comm, &session), -ENXIO);
}

static void a_session_is_remembered_of_one_thread_only(void **state)
{
	struct child child = child_start(call_itself, "short-lived");
	struct session_id session;
	char comm[16];

	(void)state;
	assert_int_equal(comms_read(comms, child.pid, comm, &session), 0);
	assert_int_equal(session.number, 0);
	comms_remember(comms, child.pid, &(struct session_id){ 17, 1234 });
	assert_int_equal(comms_read(comms, child.pid, comm, &session), 0);
	assert_int_equal(session.number, 17);
	assert_int_equal(session.start, 1234);
	/* One that was not read, or that another took the place of. */
	comms_remember(comms, child.pid + COMM_SLOTS, &(struct session_id){ 18, 1 });
	assert_int_equal(comms_read(comms, child.pid, comm, &session), 0);
	assert_int_equal(session.number, 17);
	(void)comms_read(comms, child.pid + 1000000 * COMM_SLOTS, comm, &session);
	assert_int_equal(comms_read(comms, child.pid, comm, &session), 0);
	assert_int_equal(session.number, 0);
	/* It is gone, and so is what it was, whoever has the number then. */
	comms_remember(comms, child.pid, &(struct session_id){ 17, 1234 });
	child_wait(&child);
	assert_int_equal(comms_read(comms, child.pid, comm, &session), -ESRCH);
	assert_int_equal(session.number, 0);
}

/* More than there are slots, each asked for twice while all of them live. */
static void many_are_not_mistaken_for_each_other(void **state)
{
	static const char *const names[] = { "one", "two", "three" };
	struct child children[COMM_SLOTS + 6];
	const size_t count = sizeof(children) / sizeof(children[0]);

	(void)state;
	for (size_t i = 0; i < count; i++)
		children[i] = child_start(call_itself, (void *)(uintptr_t)names[i % 3]);
	for (size_t i = 0; i < 2 * count; i++)
		assert_called(children[i % count].pid, names[i % count % 3]);
	for (size_t i = 0; i < count; i++)
		child_wait(&children[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_name_is_the_one_it_has_now, setup, teardown),
		cmocka_unit_test_setup_teardown(whoever_is_gone_has_none, setup, teardown),
		cmocka_unit_test_setup_teardown(a_session_is_remembered_of_one_thread_only, setup, teardown),
		cmocka_unit_test_setup_teardown(many_are_not_mistaken_for_each_other, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
