/*
 * Circles through holders that stand behind a blocked call. The calls are this process's, which has one thread and, as it tells, these
 * files open.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define A "global/a"
#define B "global/b"

/* Waits as `as` for a process that has the file of `file` open. */
static struct told *wait_behind(struct stage *s, const char *lock, const char *as, const char *file,
				enum atlock_priority priority)
{
	struct atlock_caller holder = stage_caller(file);
	struct told *told = stage_told(s);
	uint64_t wait;

	assert_int_equal(stage_wait(s, lock, as, priority, told, &wait), 1);
	assert_int_equal(atlock_wait_behind(s->al, wait, getpid(), getuid(), getgid(), &holder, 1), 0);
	return told;
}

static void hold_both(struct stage *s)
{
	assert_int_equal(stage_acquire(s, A, "alice@flock:1", 0), 0);
	assert_int_equal(stage_acquire(s, B, "bob@flock:2", 0), 0);
}

/* alice has A and waits for B, then bob, who has B, for A. */
struct circle {
	struct told *alice;
	struct told *bob;
};

static struct circle circle_close(struct stage *s, const char *policy, enum atlock_priority alice)
{
	struct circle circle;

	if (policy != NULL)
		stage_configure(s, "deadlock_policy", policy);
	hold_both(s);
	circle.alice = wait_behind(s, B, "alice@flock:3", "alice@flock:1", alice);
	assert_int_equal(circle.alice->times, 0);
	circle.bob = wait_behind(s, A, "bob@flock:4", "bob@flock:2", ATLOCK_NORMAL);
	return circle;
}

static void deadlocked(const struct told *told)
{
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, -EDEADLK);
}

static void newest_wait_of_the_circle_ends(void **state)
{
	struct stage *s = *state;
	struct circle circle = circle_close(s, NULL, ATLOCK_NORMAL);

	deadlocked(circle.bob);
	assert_string_equal(circle.bob->text,
			    "a deadlock: bob@flock:2 waits for global/a, held by alice@flock:1; alice@flock:1 waits "
			    "for global/b, held by bob@flock:2: release what you hold, then try again");
	assert_int_equal(circle.alice->times, 0);
	assert_string_equal(stage_queue(s, A), "");
	assert_int_equal(stage_release(s, B, "bob@flock:2"), 0);
	assert_int_equal(circle.alice->times, 1);
	assert_int_equal(circle.alice->err, 0);
}

static void oldest_wait_ends_by_fifo(void **state)
{
	struct circle circle = circle_close(*state, "fifo", ATLOCK_NORMAL);

	deadlocked(circle.alice);
	assert_non_null(strstr(circle.alice->text, "alice@flock:1 waits for global/b"));
	assert_int_equal(circle.bob->times, 0);
}

static void least_wait_ends_by_lowest_priority(void **state)
{
	struct circle circle = circle_close(*state, "lowest_priority", ATLOCK_LOW);

	deadlocked(circle.alice);
	assert_int_equal(circle.bob->times, 0);
}

static void waiting_for_what_oneself_has_ends_at_once(void **state)
{
	struct stage *s = *state;

	hold_both(s);
	deadlocked(wait_behind(s, A, "alice@x", "alice@flock:1", ATLOCK_NORMAL));
	assert_string_equal(stage_queue(s, A), "");
}

/* A circle that closes by a wait without anybody behind it, through one that has. */
static void plain_wait_closes_a_circle_through_another_call(void **state)
{
	struct stage *s = *state;
	struct told *first;

	assert_int_equal(stage_acquire(s, A, "alice@flock:1", 0), 0);
	assert_int_equal(stage_acquire(s, B, "bob@1", 0), 0);
	first = wait_behind(s, B, "alice@flock:3", "alice@flock:1", ATLOCK_NORMAL);
	assert_int_equal(stage_wait(s, A, "bob@1", ATLOCK_NORMAL, stage_told(s), NULL), -EDEADLK);
	assert_non_null(strstr(s->why.text, "bob@1 waits for global/a, held by alice@flock:1"));
	assert_int_equal(first->times, 0);
}

/* Nobody stands behind a call that has ended. */
static void call_that_ended_closes_no_circle(void **state)
{
	struct stage *s = *state;
	struct atlock_caller holder = stage_caller("alice@flock:1");
	struct told *told = stage_told(s);
	uint64_t wait;

	hold_both(s);
	assert_int_equal(stage_wait(s, B, "alice@flock:3", ATLOCK_NORMAL, told, &wait), 1);
	assert_int_equal(atlock_wait_behind(s->al, wait, getpid(), getuid(), getgid(), &holder, 1), 0);
	assert_int_equal(atlock_wait_cancel(s->al, wait), 0);
	assert_int_equal(atlock_wait_behind(s->al, wait, getpid(), getuid(), getgid(), &holder, 1), 0);
	assert_int_equal(wait_behind(s, A, "bob@flock:4", "bob@flock:2", ATLOCK_NORMAL)->times, 0);
}

/* The pass finds what was not looked for when it arose. */
static void periodic_pass_follows_them(void **state)
{
	struct stage *s = *state;
	struct circle circle = circle_close(s, "off", ATLOCK_NORMAL);

	assert_int_equal(circle.alice->times + circle.bob->times, 0);
	stage_configure(s, "deadlock_policy", "lifo");
	assert_int_equal(atlock_run_deadlock(s->al), 1);
	assert_int_equal(circle.bob->err, -EDEADLK);
	assert_int_equal(atlock_run_deadlock(s->al), 0);
}

/* A process that has the pid of another which is gone is not that one. */
static void another_process_of_the_same_pid_is_no_circle(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, A, "alice@pid:77");
	struct atlock_caller before = *req->caller;
	struct atlock_caller after = *req->caller;

	before.bound_start = 1;
	after.bound_start = 2;
	req->caller = &before;
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), 0);
	assert_int_equal(stage_acquire(s, B, "bob@1", 0), 0);
	req = stage_ask(s, B, "alice@pid:77");
	req->caller = &after;
	assert_int_equal(atlock_wait(s->al, req, told_done, stage_told(s), NULL, NULL, &s->why), 1);
	assert_int_equal(stage_wait(s, A, "bob@1", ATLOCK_NORMAL, stage_told(s), NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(newest_wait_of_the_circle_ends),
		STAGED(oldest_wait_ends_by_fifo),
		STAGED(least_wait_ends_by_lowest_priority),
		STAGED(waiting_for_what_oneself_has_ends_at_once),
		STAGED(plain_wait_closes_a_circle_through_another_call),
		STAGED(call_that_ended_closes_no_circle),
		STAGED(periodic_pass_follows_them),
		STAGED(another_process_of_the_same_pid_is_no_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
