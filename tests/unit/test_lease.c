/*
 * Leases end at their instant whether or not anything swept, hand over, and rest before that if lock_delay says so.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "repos/a/-/d/-/a"

static int never_called(void *arg, const struct atlock_view *view)
{
	(void)arg;
	(void)view;
	fail_msg("an expired lock was listed");
	return 1;
}

static void lock_is_held_until_after_its_last_nanosecond(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 60);
	assert_string_equal(stage_holder(s, LOCK), "alice@1");
	assert_int_equal(stage_acquire(s, LOCK, "alice@2", 60), -EBUSY);
	stage_advance_ns(s, 1);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

static void expired_lock_is_renewed_in_time_or_not_at_all(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 60);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 0), 0);
	stage_advance_ns(s, 60 * ATLOCK_SECOND + 1);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 0), -ENOENT);
}

/* Reading does not write, so that it costs little and can be done on a store that is open for reading only. */
static void looking_at_an_expired_lock_writes_nothing(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	stage_advance(s, 61);
	uint64_t before = stage_commits(s);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_string_equal(stage_queue(s, LOCK), "bob@1");
	assert_int_equal(stage_commits(s), before);
}

/* No call may show or use an expired lock, though nothing has swept it. */
static void every_call_sees_the_expiry_at_once(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name(LOCK);
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_query query = { .prefix = NULL };
	struct told *told = stage_told(s);
	uint64_t last = 0;

	for (int call = 0; call < 11; call++) {
		struct atlock_request *req = stage_ask(s, LOCK, "alice@1");
		struct atlock_view view;

		assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
		assert_true(s->grant.token > last);
		last = s->grant.token;
		stage_advance_ns(s, 60 * ATLOCK_SECOND + 1);
		switch (call) {
		case 0: assert_int_equal(atlock_get(s->al, &name, &view), 1); break;
		case 1: assert_int_equal(atlock_holds(s->al, &name, &alice, &view, &s->why), 1); break;
		case 2: assert_int_equal(atlock_list(s->al, &query, never_called, NULL), 0); break;
		case 3: assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 1); break;
		case 4: assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), -ENOENT); break;
		case 5: assert_int_equal(atlock_write(s->al, req, &s->why), -ENOENT); break;
		case 6: assert_int_equal(atlock_transfer(s->al, req, &alice, &s->why), -ENOENT); break;
		case 7: assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), -ENOENT); break;
		case 8: assert_int_equal(atlock_claim(s->al, req, &s->why), -ENOENT); break;
		case 9:
			assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 0);
			assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
			break;
		default:
			assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 2);
			assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
			break;
		}
	}
	assert_int_equal(told->times, 0);
}

static void expired_text_is_gone(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=1\n"), 0);
	stage_advance(s, 61);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_string_equal(view.meta, "");
	atlock_view_clear(&view);
}

static void expiry_hands_over_in_the_same_transaction(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	stage_configure(s, "queue_timeout", "1d");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	uint64_t token = s->grant.token;
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_NORMAL, NULL), 0);
	(void)stage_events(s);
	stage_advance(s, 61);
	uint64_t before = stage_commits(s);
	/* A newcomer does not slip in, and being refused changes nothing. */
	assert_int_equal(stage_acquire(s, LOCK, "dora@1", 60), -EACCES);
	assert_int_equal(stage_commits(s), before);
	assert_int_equal(told->times, 0);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(stage_commits(s), before + 1);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, 0);
	assert_true(told->grant.token > token);
	assert_int_equal(told->grant.expires_at - told->grant.acquired_at, s->options.default_ttl);
	assert_string_equal(stage_events(s), "expired granted");
	stage_advance_ns(s, s->options.default_ttl + 1);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "carol@1 pending");
}

static void run_due_ends_what_is_over_and_nothing_else(void **state)
{
	struct stage *s = *state;

	assert_true(atlock_next_due(s->al) == ATLOCK_NEVER);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/a", "alice@1", 10), 0);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/b", "alice@1", 20), 0);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/c", "alice@pr:1", 0), 0);
	assert_true(atlock_next_due(s->al) == atlock_now(s->al) + 10 * ATLOCK_SECOND);
	stage_advance(s, 10);
	uint64_t before = stage_commits(s);
	assert_int_equal(atlock_run_due(s->al), 0);
	assert_int_equal(stage_commits(s), before);
	stage_advance(s, 1);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_true(atlock_next_due(s->al) == atlock_now(s->al) + 9 * ATLOCK_SECOND);
	stage_advance(s, 100);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_true(atlock_next_due(s->al) == ATLOCK_NEVER);
	assert_string_equal(stage_holder(s, "repos/a/-/d/-/c"), "alice@pr:1");
	assert_string_equal(stage_events(s), "acquired acquired acquired expired expired");
}

/* More than fits in one of its transactions. */
static void run_due_ends_any_number(void **state)
{
	struct stage *s = *state;
	struct atlock_status status;
	char name[32];

	for (int i = 0; i < 2500; i++) {
		(void)snprintf(name, sizeof(name), "repos/a/-/d/-/%d", i);
		assert_int_equal(stage_acquire(s, name, "alice@1", 10), 0);
	}
	stage_advance(s, 11);
	assert_int_equal(atlock_run_due(s->al), 2500);
	assert_int_equal(atlock_status(s->al, &status), 0);
	assert_int_equal(status.held, 0);
}

/* A renewed lease must not be ended by the deadline it had before. */
static void renewing_moves_the_deadline(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 10), 0);
	stage_advance(s, 5);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 60), 0);
	assert_true(atlock_next_due(s->al) == atlock_now(s->al) + 60 * ATLOCK_SECOND);
	stage_advance(s, 30);
	assert_int_equal(atlock_run_due(s->al), 0);
	assert_string_equal(stage_holder(s, LOCK), "alice@1");
}

/* --- lock_delay --- */

static void expired_lock_rests_for_lock_delay(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "bob@1");

	stage_configure(s, "lock_delay", "10s");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), -EBUSY);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), -EBUSY);
	assert_non_null(strstr(s->why.text, "lock_delay"));
	req->exclusive = true;
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), -EBUSY);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 1);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 0), -ENOENT);
	stage_advance(s, 10);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), -EBUSY);
	stage_advance_ns(s, 1);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), 0);
}

/* The clock of the rest starts when the expiry is noticed, not when it was. */
static void rest_counts_from_when_the_expiry_was_noticed(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "lock_delay", "10s");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 100);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_true(atlock_next_due(s->al) == atlock_now(s->al) + 10 * ATLOCK_SECOND);
}

static void waiter_gets_the_lock_after_its_rest(void **state)
{
	struct stage *s = *state;
	struct told *early = stage_told(s);
	struct told *late = stage_told(s);

	stage_configure(s, "lock_delay", "10s");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, early, NULL), 1);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(early->times, 0);
	/* One who comes now waits too, though nobody holds it. */
	assert_int_equal(stage_wait(s, LOCK, "carol@1", ATLOCK_NORMAL, late, NULL), 1);
	stage_advance(s, 11);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(early->times, 1);
	assert_int_equal(early->err, 0);
	assert_int_equal(late->times, 0);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
}

static void released_lock_does_not_rest(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "lock_delay", "10s");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), 0);
}

static void resting_lock_rests_across_a_restart(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "lock_delay", "10s");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	stage_reopen(s);
	stage_advance(s, 10);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), -EBUSY);
	stage_advance(s, 1);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(lock_is_held_until_after_its_last_nanosecond),
		STAGED(expired_lock_is_renewed_in_time_or_not_at_all),
		STAGED(looking_at_an_expired_lock_writes_nothing),
		STAGED(every_call_sees_the_expiry_at_once),
		STAGED(expired_text_is_gone),
		STAGED(expiry_hands_over_in_the_same_transaction),
		STAGED(run_due_ends_what_is_over_and_nothing_else),
		STAGED(run_due_ends_any_number),
		STAGED(renewing_moves_the_deadline),
		STAGED(expired_lock_rests_for_lock_delay),
		STAGED(rest_counts_from_when_the_expiry_was_noticed),
		STAGED(waiter_gets_the_lock_after_its_rest),
		STAGED(released_lock_does_not_rest),
		STAGED(resting_lock_rests_across_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
