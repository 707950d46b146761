/*
 * The manager's own thread, with real clocks: it ends leases and waits when they are over, and sleeps in between. Nothing
 * here sleeps to synchronise: what is waited for is the thread's answer.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LOCK "global/a"
#define MILLISECOND (ATLOCK_SECOND / 1000)

static int acquire_for(struct stage *s, const char *lock, const char *as, int64_t ttl)
{
	struct atlock_request *req = stage_ask(s, lock, as);

	req->ttl = ttl;
	return atlock_acquire(s->al, req, &s->grant, &s->why);
}

static uint64_t updates(struct stage *s)
{
	struct atlock_status status;

	assert_int_equal(atlock_status(s->al, &status), 0);
	return status.updates;
}

/* The lease is made short only once somebody waits, so that it cannot end before. */
static void lease_that_ends_goes_to_the_waiter(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 3600), 0);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	assert_int_equal(acquire_for(s, LOCK, "alice@1", 30 * MILLISECOND), 1);
	assert_int_equal(told_await(told), 0);
	assert_true(told->grant.acquired_at > s->grant.expires_at);
	assert_true(told->grant.token > s->grant.token);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
}

/* A descriptor that knows whether the wall clock is set from now on. */
static int clock_watch(void)
{
	struct itimerspec never = { .it_value = { .tv_sec = INT32_MAX } };
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	assert_true(fd >= 0);
	assert_int_equal(timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL), 0);
	return fd;
}

static bool clock_was_set(int fd)
{
	uint64_t count;
	bool set = read(fd, &count, sizeof(count)) < 0 && errno == ECANCELED;

	close(fd);
	return set;
}

/* One deadline is one wake: a thread that polled would have made more updates. */
static void thread_wakes_once_for_a_deadline(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	assert_int_equal(stage_acquire(s, "global/other", "alice@1", 3600), 0);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 3600), 0);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	int clock = clock_watch();
	uint64_t before = updates(s);
	assert_int_equal(acquire_for(s, LOCK, "alice@1", 100 * MILLISECOND), 1);
	assert_int_equal(told_await(told), 0);
	/* A machine whose wall clock is set meanwhile has one more, which notes it. */
	if (!clock_was_set(clock))
		assert_int_equal(updates(s), before + 2);
	assert_string_equal(stage_holder(s, "global/other"), "alice@1");
}

static void wait_that_lasts_too_long_is_told_so(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct atlock_request *req = stage_ask(s, LOCK, "bob@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 3600), 0);
	req->timeout = 20 * MILLISECOND;
	assert_int_equal(atlock_wait(s->al, req, told_done, told, NULL, NULL, &s->why), 1);
	assert_int_equal(told_await(told), -ETIMEDOUT);
	assert_int_equal(told->code, ATLOCK_TIMEOUT);
	assert_string_equal(stage_queue(s, LOCK), "");
}

/* Whether it ends before, between or after, nobody is forgotten. */
static void thread_knows_the_deadlines_of_a_store_it_opens(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	assert_int_equal(acquire_for(s, LOCK, "alice@1", 200 * MILLISECOND), 0);
	stage_reopen(s);
	int rc = stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL);
	assert_int_equal(rc == 1 ? told_await(told) : rc, 0);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
}

/* The periodic pass finds what was no deadlock when the waits began. */
static void thread_looks_for_deadlocks_now_and_then(void **state)
{
	struct stage *s = *state;
	struct told *first = stage_told(s);
	struct told *second = stage_told(s);

	stage_close(s);
	s->options.deadlock_interval = ATLOCK_SECOND;
	s->options.deadlock_policy = ATLOCK_DEADLOCK_OFF;
	stage_open(s);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 600), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 600), 0);
	assert_int_equal(stage_wait(s, "global/b", "alice@1", ATLOCK_NORMAL, first, NULL), 1);
	assert_int_equal(stage_wait(s, "global/a", "bob@1", ATLOCK_NORMAL, second, NULL), 1);
	stage_configure(s, "deadlock_policy", "lifo");
	assert_int_equal(told_await(second), -EDEADLK);
	assert_int_equal(first->times, 0);
}

static void closing_answers_everyone_who_waits(void **state)
{
	struct stage *s = *state;
	struct told *told[100];

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 600), 0);
	for (size_t i = 0; i < 100; i++) {
		told[i] = stage_told(s);
		assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told[i], NULL), 1);
	}
	stage_close(s);
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(told[i]->times, 1);
		assert_int_equal(told[i]->err, -ECANCELED);
		assert_int_equal(told[i]->code, ATLOCK_CANCELLED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED_LIVE(lease_that_ends_goes_to_the_waiter),
		STAGED_LIVE(thread_wakes_once_for_a_deadline),
		STAGED_LIVE(wait_that_lasts_too_long_is_told_so),
		STAGED_LIVE(thread_knows_the_deadlines_of_a_store_it_opens),
		STAGED_LIVE(thread_looks_for_deadlocks_now_and_then),
		STAGED_LIVE(closing_answers_everyone_who_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
