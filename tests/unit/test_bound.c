/*
 * Locks that live and die with a process, an open file or a boot. The processes are real, and are killed.
 */
#include "child.h"
#include "process.h"
#include "stage.h"
#include "state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LOCK "global/a"

/* Somebody bound to a process, asking from another one: as "touch f@pid:$$" does for the shell it runs in. */
static struct atlock_caller bound_to(pid_t pid)
{
	struct process process;
	char as[32];

	assert_int_equal(process_read(pid, &process), 0);
	(void)snprintf(as, sizeof(as), "alice@pid:%d", pid);
	struct atlock_caller caller = stage_caller(as);
	caller.pid = getpid();
	caller.bound_start = process.start;
	return caller;
}

static int acquire_as(struct stage *s, const struct atlock_caller *caller)
{
	struct atlock_name name = stage_name(LOCK);
	struct atlock_request req = { .name = &name, .caller = caller };

	return atlock_acquire(s->al, &req, &s->grant, &s->why);
}

/* bob has the lock, and a process waits for it. */
static void wait_as(struct stage *s, const struct atlock_caller *waiter, struct told *told)
{
	struct atlock_request *req = stage_ask(s, LOCK, "bob@1");

	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 600), 0);
	req->caller = waiter;
	assert_int_equal(atlock_wait(s->al, req, told_done, told, NULL, NULL, &s->why), 1);
}

static void death_of_the_holder_grants_the_next(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct child child = child_start(NULL, NULL);
	struct atlock_caller holder = bound_to(child.pid);

	assert_int_equal(acquire_as(s, &holder), 0);
	assert_int_equal(s->grant.expires_at, ATLOCK_NEVER);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	/* A zombie is as dead as can be: nobody has to collect it first. */
	child_kill(&child);
	assert_int_equal(told_await(told), 0);
	assert_true(told->grant.token > s->grant.token);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
	assert_string_equal(stage_events(s), "acquired queued released granted");
	child_wait(&child);
}

static void death_of_a_waiter_ends_its_wait(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct child child = child_start(NULL, NULL);
	struct atlock_caller waiter = bound_to(child.pid);

	wait_as(s, &waiter, told);
	child_kill(&child);
	assert_int_equal(told_await(told), -ECANCELED);
	assert_string_equal(stage_queue(s, LOCK), "");
	child_wait(&child);
}

/* It is released as the same process, not as one of its number. */
static void grant_that_a_process_does_not_take_is_released(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct child child = child_start(NULL, NULL);
	struct atlock_caller waiter = bound_to(child.pid);

	told->absent = true;
	wait_as(s, &waiter, told);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
	assert_int_equal(told_await(told), 0);
	assert_string_equal(stage_holder(s, LOCK), "free");
	child_kill(&child);
	child_wait(&child);
}

/* A ticket is watched from the start, and so is what it becomes. */
static void death_after_a_grant_from_the_queue_is_noticed(void **state)
{
	struct stage *s = *state;
	struct told *granted = stage_told(s);
	struct told *next = stage_told(s);
	struct child child = child_start(NULL, NULL);
	struct atlock_caller waiter = bound_to(child.pid);

	wait_as(s, &waiter, granted);
	assert_int_equal(stage_wait(s, LOCK, "carol@1", ATLOCK_NORMAL, next, NULL), 1);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
	assert_int_equal(told_await(granted), 0);
	child_kill(&child);
	assert_int_equal(told_await(next), 0);
	child_wait(&child);
}

static void death_of_whom_a_lock_was_given_to_is_noticed(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct child child = child_start(NULL, NULL);
	struct atlock_caller to = bound_to(child.pid);

	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 600), 0);
	assert_int_equal(atlock_transfer(s->al, stage_ask(s, LOCK, "bob@1"), &to, &s->why), 0);
	assert_int_equal(stage_wait(s, LOCK, "carol@1", ATLOCK_NORMAL, told, NULL), 1);
	child_kill(&child);
	assert_int_equal(told_await(told), 0);
	child_wait(&child);
}

/* The death of one leaves what another has alone. */
static void death_frees_only_what_is_bound_to_the_dead(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct child dies = child_start(NULL, NULL);
	struct child lives = child_start(NULL, NULL);
	struct atlock_caller first = bound_to(dies.pid);
	struct atlock_caller second = bound_to(lives.pid);
	struct atlock_name other = stage_name("global/b");
	struct atlock_request req = { .name = &other, .caller = &second };

	assert_int_equal(acquire_as(s, &first), 0);
	assert_int_equal(atlock_acquire(s->al, &req, NULL, &s->why), 0);
	assert_int_equal(stage_acquire(s, "global/c", "alice@1", 600), 0);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	child_kill(&dies);
	assert_int_equal(told_await(told), 0);
	assert_int_equal(atlock_holds(s->al, &other, &second, NULL, &s->why), 0);
	assert_string_equal(stage_holder(s, "global/c"), "alice@1");
	child_wait(&dies);
	child_wait(&lives);
}

static void process_that_is_gone_already_gets_no_lock(void **state)
{
	struct stage *s = *state;
	struct child child = child_start(NULL, NULL);
	struct atlock_caller holder = bound_to(child.pid);

	child_kill(&child);
	child_wait(&child);
	assert_int_equal(acquire_as(s, &holder), -EINVAL);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

static void recycled_pid_is_somebody_else(void **state)
{
	struct stage *s = *state;
	struct child child = child_start(NULL, NULL);
	struct atlock_caller holder = bound_to(child.pid);
	struct atlock_caller recycled = holder;
	struct atlock_name name = stage_name(LOCK);
	struct atlock_request req = { .name = &name, .caller = &recycled };

	recycled.bound_start++;
	assert_int_equal(acquire_as(s, &holder), 0);
	assert_int_equal(acquire_as(s, &recycled), -EINVAL);
	assert_int_equal(atlock_release(s->al, &req, NULL, &s->why), -EPERM);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), -EACCES);
	/* The pid runs, but who is named does not: nothing is kept for a stranger. */
	assert_int_equal(atlock_release_holder(s->al, &holder, NULL, &s->why), 0);
	assert_int_equal(acquire_as(s, &recycled), -EINVAL);
	assert_string_equal(stage_holder(s, LOCK), "free");
	child_wait(&child);
}

/* A session keeps what it has as long as its lease runs; one that got its number later is another. */
static void recycled_session_is_somebody_else(void **state)
{
	struct stage *s = *state;
	struct atlock_caller session = stage_caller("alice@sid:4711");
	struct atlock_caller recycled = session;
	struct atlock_caller unknown = session;
	struct atlock_name name = stage_name(LOCK);
	struct atlock_name queued = stage_name("global/q");
	struct atlock_request req = { .name = &name, .caller = &recycled };
	struct atlock_request waits = *stage_ask(s, LOCK, "alice@flock:1");
	struct told *told = stage_told(s);
	uint64_t first = 0;
	uint64_t second = 0;

	session.bound_start = 100;
	recycled.bound_start = 200;
	assert_int_equal(acquire_as(s, &session), 0);
	assert_int_equal(acquire_as(s, &session), 1);
	assert_int_equal(acquire_as(s, &recycled), -EBUSY);
	assert_int_equal(atlock_release(s->al, &req, NULL, &s->why), -EPERM);
	waits.self = &recycled;
	assert_int_equal(atlock_wait(s->al, &waits, told_done, told, NULL, NULL, &s->why), 1);
	waits.self = &session;
	assert_int_equal(atlock_wait(s->al, &waits, told_done, told, NULL, NULL, &s->why), -EDEADLK);
	/* Where the start is not known, the number must do. */
	assert_int_equal(acquire_as(s, &unknown), 1);
	/* The same for places in a queue, and over a restart. */
	assert_int_equal(stage_acquire(s, "global/q", "bob@1", 0), 0);
	req.name = &queued;
	assert_int_equal(atlock_enqueue(s->al, &req, &first, NULL, &s->why), 0);
	req.caller = &session;
	assert_int_equal(atlock_enqueue(s->al, &req, &second, NULL, &s->why), 0);
	assert_int_not_equal(first, second);
	assert_int_equal(atlock_cancel(s->al, &req, first, &s->why), -EPERM);
	stage_reopen(s);
	assert_int_equal(acquire_as(s, &session), 1);
	assert_int_equal(acquire_as(s, &recycled), -EBUSY);
	assert_int_equal(atlock_cancel(s->al, &req, second, &s->why), 0);
}

static void death_while_the_manager_is_closed_is_noticed_at_the_next_open(void **state)
{
	struct stage *s = *state;
	struct child child = child_start(NULL, NULL);
	struct atlock_caller holder = bound_to(child.pid);

	assert_int_equal(acquire_as(s, &holder), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	stage_close(s);
	child_kill(&child);
	child_wait(&child);
	stage_open(s);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
}

static void process_that_lives_is_watched_again_after_a_restart(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct atlock_name name = stage_name(LOCK);

	/* A child has what its parent had open: it must not have the store, which is to be opened again. */
	stage_close(s);
	struct child child = child_start(NULL, NULL);
	struct atlock_caller holder = bound_to(child.pid);
	stage_open(s);
	assert_int_equal(acquire_as(s, &holder), 0);
	stage_reopen(s);
	assert_int_equal(atlock_holds(s->al, &name, &holder, NULL, &s->why), 0);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	child_kill(&child);
	assert_int_equal(told_await(told), 0);
	child_wait(&child);
}

/* --- What ends with the manager or the boot; no thread and no process is needed for that --- */

static void open_files_end_with_the_manager(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@flock:1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_acquire(s, "global/b", "carol@1", 600), 0);
	assert_int_equal(stage_enqueue(s, "global/b", "alice@flock:1", ATLOCK_NORMAL, NULL), 0);
	stage_reopen(s);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
	assert_string_equal(stage_queue(s, "global/b"), "");
}

static void processes_of_an_earlier_boot_are_gone(void **state)
{
	struct stage *s = *state;

	s->al->boot++;
	assert_int_equal(stage_acquire(s, "global/a", "alice@pid:1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 600), 0);
	assert_int_equal(stage_enqueue(s, "global/b", "alice@pid:1", ATLOCK_NORMAL, NULL), 0);
	stage_reopen(s);
	assert_string_equal(stage_holder(s, "global/a"), "free");
	assert_string_equal(stage_holder(s, "global/b"), "alice@1");
	assert_string_equal(stage_queue(s, "global/b"), "");
}

/* Session numbers start over after a boot: the same number is somebody else. */
static void session_of_an_earlier_boot_is_somebody_else(void **state)
{
	struct stage *s = *state;

	s->al->boot++;
	assert_int_equal(stage_acquire(s, LOCK, "alice@sid:5", 600), 0);
	stage_reopen(s);
	assert_string_equal(stage_holder(s, LOCK), "alice@sid:5");
	assert_int_equal(stage_acquire(s, LOCK, "alice@sid:5", 600), -EBUSY);
	assert_int_equal(stage_release(s, LOCK, "alice@sid:5"), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED_LIVE(death_of_the_holder_grants_the_next),
		STAGED_LIVE(death_of_a_waiter_ends_its_wait),
		STAGED(grant_that_a_process_does_not_take_is_released),
		STAGED_LIVE(death_after_a_grant_from_the_queue_is_noticed),
		STAGED_LIVE(death_of_whom_a_lock_was_given_to_is_noticed),
		STAGED_LIVE(death_frees_only_what_is_bound_to_the_dead),
		STAGED_LIVE(process_that_is_gone_already_gets_no_lock),
		STAGED_LIVE(recycled_pid_is_somebody_else),
		STAGED_LIVE(recycled_session_is_somebody_else),
		STAGED_LIVE(death_while_the_manager_is_closed_is_noticed_at_the_next_open),
		STAGED_LIVE(process_that_lives_is_watched_again_after_a_restart),
		STAGED(open_files_end_with_the_manager),
		STAGED(processes_of_an_earlier_boot_are_gone),
		STAGED(session_of_an_earlier_boot_is_somebody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
