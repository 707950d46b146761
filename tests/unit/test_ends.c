/* Ends that the store could not write: they are kept, counted, and written as soon as it works. */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "repos/a/-/d/-/a"

static uint64_t ends(struct stage *s)
{
	struct atlock_status status;

	assert_int_equal(atlock_status(s->al, &status), 0);
	return status.ends;
}

/* The n-th commit from now fails. */
static void fail_in(struct stage *s, uint64_t n)
{
	*mem_world_faults(s->world) = (struct mem_faults){ .fail_in = n, .fail_error = EIO };
}

static void assert_health(struct stage *s, const char *text)
{
	size_t len = 0;
	char *health = atlock_health_text(s->al, true, &len);

	assert_non_null(health);
	assert_non_null(strstr(health, text));
	free(health);
}

/* Bob was granted the lock, was not there for it, and giving it back failed. */
static void disown(struct stage *s)
{
	struct told *absent = stage_told(s);

	absent->absent = true;
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 600), 0);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, absent, NULL), 1);
	fail_in(s, 2);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(absent->times, 1);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
	assert_int_equal(ends(s), 1);
}

/* Nothing is left to be written, and the lock is still this one's. */
static void left_to(struct stage *s, const char *holder)
{
	assert_true(atlock_run_ends(s->al) >= 0);
	assert_string_equal(stage_holder(s, LOCK), holder);
	assert_int_equal(ends(s), 0);
}

/* bob waits behind alice, and his leaving could not be written. */
static void cancel_fails(struct stage *s, struct told *told)
{
	uint64_t wait;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 600), 0);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, &wait), 1);
	fail_in(s, 1);
	assert_int_equal(atlock_wait_cancel(s->al, wait), -EIO);
}

static void grant_that_could_not_be_given_back_is_later(void **state)
{
	struct stage *s = *state;

	disown(s);
	assert_health(s, "degraded ends: 1 ends of holders or waits wait to be written");
	fail_in(s, 1);
	assert_int_equal(atlock_run_ends(s->al), -EIO);
	assert_int_equal(ends(s), 1);
	assert_int_equal(atlock_run_ends(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_int_equal(ends(s), 0);
	assert_health(s, "\nends=ok\n");
	assert_int_equal(atlock_run_ends(s->al), 0);
}

/* He was told that it is his: whoever takes it away from him then gives it to two. */
static void holder_who_comes_again_keeps_the_lock(void **state)
{
	struct stage *s = *state;

	disown(s);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 0), 1);
	left_to(s, "bob@1");
}

static void holder_who_changed_it_keeps_the_lock(void **state)
{
	struct stage *s = *state;

	disown(s);
	assert_int_equal(stage_renew(s, LOCK, "bob@1", 60), 0);
	left_to(s, "bob@1");
}

static void holder_who_failed_to_come_again_does_not(void **state)
{
	struct stage *s = *state;

	disown(s);
	fail_in(s, 1);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), -EIO);
	assert_int_equal(atlock_run_ends(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

static void grant_that_ended_otherwise_is_nobody_elses_loss(void **state)
{
	struct stage *s = *state;

	disown(s);
	stage_advance(s, 24 * 3600);
	assert_int_equal(stage_acquire(s, LOCK, "carol@1", 600), 0);
	left_to(s, "carol@1");
}

static void cancelled_wait_leaves_the_queue_later(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	cancel_fails(s, told);
	assert_int_equal(ends(s), 1);
	assert_string_equal(stage_queue(s, LOCK), "bob@1");
	assert_int_equal(atlock_run_ends(s->al), 1);
	assert_int_equal(ends(s), 0);
	assert_string_equal(stage_queue(s, LOCK), "");
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, -ECANCELED);
}

static void cancelled_wait_that_is_granted_first_gives_it_back(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	told->absent = true;
	cancel_fails(s, told);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_int_equal(ends(s), 0);
	assert_int_equal(told->times, 1);
}

static void closed_file_gives_its_lock_back_later(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@flock:1");
	struct atlock_end *end;

	assert_int_equal(atlock_acquire(s->al, req, &s->grant, &s->why), 0);
	end = atlock_end_new(req->name, req->caller, &s->grant);
	assert_non_null(end);
	fail_in(s, 1);
	assert_int_equal(atlock_end_write(s->al, end), -EIO);
	assert_int_equal(ends(s), 1);
	assert_int_equal(atlock_run_ends(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

/* What was handed on under the same token is another's. */
static void closed_file_takes_nothing_from_another(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@flock:1");
	struct atlock_end *end;

	assert_int_equal(atlock_acquire(s->al, req, &s->grant, &s->why), 0);
	end = atlock_end_new(req->name, req->caller, &s->grant);
	assert_int_equal(stage_transfer(s, LOCK, "alice@flock:1", "bob@1"), 0);
	assert_int_equal(atlock_end_write(s->al, end), 1);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
}

static void closing_tries_once_more(void **state)
{
	struct stage *s = *state;

	disown(s);
	stage_reopen(s);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(grant_that_could_not_be_given_back_is_later),
		STAGED(holder_who_comes_again_keeps_the_lock),
		STAGED(holder_who_changed_it_keeps_the_lock),
		STAGED(holder_who_failed_to_come_again_does_not),
		STAGED(grant_that_ended_otherwise_is_nobody_elses_loss),
		STAGED(cancelled_wait_leaves_the_queue_later),
		STAGED(cancelled_wait_that_is_granted_first_gives_it_back),
		STAGED(closed_file_gives_its_lock_back_later),
		STAGED(closed_file_takes_nothing_from_another),
		STAGED(closing_tries_once_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
