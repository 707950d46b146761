/*
 * Queues as time passes: waits that last too long, grants nobody takes up, and what a restart leaves of a queue.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "repos/a/-/d/-/a"

/* Alice holds the lock for longer than any test waits. */
static void hold(struct stage *s)
{
	assert_int_equal(stage_acquire(s, LOCK, "alice@pr:1", 0), 0);
}

static int wait_for(struct stage *s, const char *as, int64_t timeout, struct told *told)
{
	struct atlock_request *req = stage_ask(s, LOCK, as);

	req->timeout = timeout;
	return atlock_wait(s->al, req, told_done, told, NULL, NULL, &s->why);
}

static void wait_ends_after_the_last_nanosecond_of_its_timeout(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	hold(s);
	assert_int_equal(wait_for(s, "bob@1", 10 * ATLOCK_SECOND, told), 1);
	assert_true(atlock_next_due(s->al) == atlock_now(s->al) + 10 * ATLOCK_SECOND);
	stage_advance(s, 10);
	assert_int_equal(atlock_run_due(s->al), 0);
	assert_int_equal(told->times, 0);
	stage_advance_ns(s, 1);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, -ETIMEDOUT);
	assert_int_equal(told->code, ATLOCK_TIMEOUT);
	assert_string_equal(stage_events(s), "acquired queued timed_out");
}

static void timeout_comes_from_the_option_unless_asked_for(void **state)
{
	struct stage *s = *state;
	struct told *usual = stage_told(s);
	struct told *patient = stage_told(s);

	stage_configure(s, "queue_timeout", "30s");
	hold(s);
	assert_int_equal(wait_for(s, "bob@1", 0, usual), 1);
	assert_int_equal(wait_for(s, "bob@2", ATLOCK_NEVER, patient), 1);
	stage_advance(s, 31);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(usual->err, -ETIMEDOUT);
	stage_advance(s, INT64_C(10) * 365 * 86400);
	assert_int_equal(atlock_run_due(s->al), 0);
	assert_int_equal(patient->times, 0);
	assert_int_equal(stage_release(s, LOCK, "alice@pr:1"), 0);
	assert_int_equal(patient->times, 1);
	assert_int_equal(patient->err, 0);
}

/* A deadline that nothing has swept counts when the lock is handed over. */
static void overdue_wait_is_passed_over(void **state)
{
	struct stage *s = *state;
	struct told *first = stage_told(s);
	struct told *second = stage_told(s);

	hold(s);
	assert_int_equal(wait_for(s, "bob@1", 10 * ATLOCK_SECOND, first), 1);
	assert_int_equal(wait_for(s, "bob@2", 20 * ATLOCK_SECOND, second), 1);
	stage_advance(s, 15);
	assert_string_equal(stage_queue(s, LOCK), "bob@2");
	assert_int_equal(stage_release(s, LOCK, "alice@pr:1"), 0);
	assert_int_equal(first->err, -ETIMEDOUT);
	assert_int_equal(second->err, 0);
	assert_int_equal(first->times + second->times, 2);
	assert_string_equal(stage_holder(s, LOCK), "bob@2");
}

/* A full queue of waits that are all over has room. */
static void overdue_waits_make_room(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "max_queue", "1");
	hold(s);
	assert_int_equal(wait_for(s, "bob@1", 10 * ATLOCK_SECOND, stage_told(s)), 1);
	assert_int_equal(wait_for(s, "bob@2", 10 * ATLOCK_SECOND, stage_told(s)), -EDQUOT);
	stage_advance(s, 11);
	assert_int_equal(wait_for(s, "bob@2", 10 * ATLOCK_SECOND, stage_told(s)), 1);
}

static void timeout_that_overflows_is_no_timeout(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	hold(s);
	assert_int_equal(wait_for(s, "bob@1", ATLOCK_NEVER - 1, told), 1);
	stage_advance(s, 3600);
	assert_int_equal(atlock_run_due(s->al), 0);
	assert_int_equal(told->times, 0);
}

/* --- Grants that wait to be taken up --- */

static uint64_t grant_bob(struct stage *s)
{
	hold(s);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@pr:1"), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.state, ATLOCK_PENDING);
	assert_int_equal(view.claim_by, atlock_now(s->al) + s->options.claim_timeout);
	uint64_t token = view.token;
	atlock_view_clear(&view);
	(void)stage_events(s);
	return token;
}

static void grant_nobody_takes_up_passes_on(void **state)
{
	struct stage *s = *state;
	uint64_t token = grant_bob(s);

	stage_advance(s, 60);
	assert_int_equal(atlock_run_due(s->al), 0);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
	stage_advance_ns(s, 1);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "carol@1 pending");
	struct atlock_view view = stage_view(s, LOCK);
	assert_true(view.token > token);
	atlock_view_clear(&view);
	assert_string_equal(stage_events(s), "unclaimed granted");
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), 0);
}

static void grant_that_was_not_taken_up_does_not_rest(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "lock_delay", "1h");
	(void)grant_bob(s);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "carol@1 pending");
}

static void late_claim_finds_the_lock_with_the_next(void **state)
{
	struct stage *s = *state;

	(void)grant_bob(s);
	stage_advance(s, 61);
	assert_int_equal(atlock_claim(s->al, stage_ask(s, LOCK, "bob@1"), &s->why), -EACCES);
	assert_int_equal(stage_acquire(s, LOCK, "carol@1", 0), 1);
	assert_string_equal(stage_holder(s, LOCK), "carol@1");
}

static void claimed_grant_lives_for_its_lease(void **state)
{
	struct stage *s = *state;

	(void)grant_bob(s);
	stage_advance(s, 59);
	assert_int_equal(atlock_claim(s->al, stage_ask(s, LOCK, "bob@1"), &s->why), 0);
	assert_string_equal(stage_events(s), "claimed");
	stage_advance_ns(s, s->options.default_ttl);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
	stage_advance_ns(s, 1);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

/* Even a lease shorter than the time to take it up ends. */
static void unclaimed_grant_ends_with_a_short_lease(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "bob@1");

	hold(s);
	req->ttl = 5 * ATLOCK_SECOND;
	assert_int_equal(atlock_enqueue(s->al, req, NULL, NULL, &s->why), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@pr:1"), 0);
	(void)stage_events(s);
	stage_advance(s, 6);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_events(s), "expired");
}

/* --- Restarts --- */

static void tickets_survive_a_restart_with_their_order_and_deadline(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name(LOCK);
	struct atlock_ticket ticket;

	hold(s);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_HIGH, NULL), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "dora@1", ATLOCK_NORMAL, NULL), 0);
	int64_t deadline = atlock_now(s->al) + s->options.queue_timeout;
	stage_advance(s, 100);
	stage_reopen(s);
	assert_string_equal(stage_queue(s, LOCK), "carol@1 bob@1 dora@1");
	assert_int_equal(atlock_ticket_get(s->al, &name, 0, "bob", "1", &ticket), 0);
	assert_int_equal(ticket.deadline, deadline);
	atlock_ticket_clear(&ticket);
	assert_int_equal(stage_release(s, LOCK, "alice@pr:1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "carol@1 pending");
}

/* Nobody is there any more to take such a grant. */
static void blocked_calls_do_not_survive_a_restart(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	hold(s);
	assert_int_equal(wait_for(s, "bob@1", 0, told), 1);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_LOW, NULL), 0);
	(void)stage_events(s);
	stage_reopen(s);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, -ECANCELED);
	assert_string_equal(stage_events(s), "closed opened cancelled");
	assert_string_equal(stage_queue(s, LOCK), "carol@1");
}

static void blocked_calls_of_a_crashed_manager_are_forgotten(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	hold(s);
	assert_int_equal(wait_for(s, "bob@1", ATLOCK_NEVER, told), 1);
	mem_world_faults(s->world)->crash_in = 1;
	stage_reopen(s);
	assert_string_equal(stage_queue(s, LOCK), "");
	assert_int_equal(stage_release(s, LOCK, "alice@pr:1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

static void unclaimed_grant_survives_a_restart(void **state)
{
	struct stage *s = *state;

	(void)grant_bob(s);
	stage_reopen(s);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "carol@1 pending");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(wait_ends_after_the_last_nanosecond_of_its_timeout),
		STAGED(timeout_comes_from_the_option_unless_asked_for),
		STAGED(overdue_wait_is_passed_over),
		STAGED(overdue_waits_make_room),
		STAGED(timeout_that_overflows_is_no_timeout),
		STAGED(grant_nobody_takes_up_passes_on),
		STAGED(grant_that_was_not_taken_up_does_not_rest),
		STAGED(late_claim_finds_the_lock_with_the_next),
		STAGED(claimed_grant_lives_for_its_lease),
		STAGED(unclaimed_grant_ends_with_a_short_lease),
		STAGED(tickets_survive_a_restart_with_their_order_and_deadline),
		STAGED(blocked_calls_do_not_survive_a_restart),
		STAGED(blocked_calls_of_a_crashed_manager_are_forgotten),
		STAGED(unclaimed_grant_survives_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
