/*
 * Lease time: it runs on while the manager lives and while it does not, and no setting of the wall clock ends or extends a
 * lease.
 */
#include "lease.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "global/a"
#define HOUR INT64_C(3600)

/* Held for exactly `seconds` more: the two sides of the last nanosecond. */
static void ends_in(struct stage *s, int64_t seconds)
{
	stage_advance(s, seconds);
	assert_string_equal(stage_holder(s, LOCK), "alice@1");
	stage_advance_ns(s, 1);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

/* The manager is gone for a while; the machine may boot in between, so that steady time starts over. */
static void gone_for(struct stage *s, int64_t seconds)
{
	stage_close(s);
	stage_advance(s, seconds);
	s->time.steady = 5;
	stage_open(s);
}

/* The same without a chance to write anything on the way out. */
static void crash(struct stage *s)
{
	mem_world_faults(s->world)->crash_in = 1;
	stage_reopen(s);
}

static void wall_clock_set_forward_ends_nothing(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_set_wall(s, 24 * HOUR);
	ends_in(s, 60);
}

static void wall_clock_set_back_extends_nothing(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_set_wall(s, -24 * HOUR);
	ends_in(s, 60);
}

static void expiry_is_shown_in_the_wall_time_of_today(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_true(atlock_wall(s->al, s->grant.expires_at) == s->time.wall + 60 * ATLOCK_SECOND);
	stage_set_wall(s, HOUR);
	assert_true(atlock_wall(s->al, s->grant.expires_at) == s->time.wall + 60 * ATLOCK_SECOND);
	assert_true(atlock_wall(s->al, ATLOCK_NEVER) == ATLOCK_NEVER);
}

static void pause_between_the_clocks_moves_nothing(void **state)
{
	struct stage *s = *state;
	int64_t shown;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	shown = atlock_wall(s->al, s->grant.expires_at);
	s->preempted = ATLOCK_SECOND / 50;
	assert_true(atlock_wall(s->al, s->grant.expires_at) == shown);
}

static void lease_runs_on_while_the_manager_is_gone(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 20);
	gone_for(s, 30);
	ends_in(s, 10);
}

static void lease_that_ended_meanwhile_is_over(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	gone_for(s, 61);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), 0);
}

static void wall_clock_set_while_open_does_not_matter_after_a_restart(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_set_wall(s, HOUR);
	gone_for(s, 10);
	stage_set_wall(s, -2 * HOUR);
	gone_for(s, 10);
	ends_in(s, 40);
}

/* Whoever dies with the machine has at least noted the step when it happened. */
static void step_that_was_noted_survives_a_crash(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_set_wall(s, HOUR);
	assert_int_equal(lease_note_clock(s->al), 0);
	crash(s);
	ends_in(s, 60);
}

/* Nobody can tell a clock that was set back from one that was right: at least no lease gets its time twice. */
/* The end of a rest is no event, and notes the time all the same. */
static void step_before_a_rest_ended_survives_a_crash(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "lock_delay", "5s");
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 1), 0);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	stage_advance(s, 2);
	assert_int_equal(atlock_run_due(s->al), 1);
	stage_advance(s, 6);
	stage_set_wall(s, HOUR);
	assert_int_equal(atlock_run_due(s->al), 1);
	crash(s);
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	ends_in(s, 52);
}

static void wall_clock_set_back_while_closed_extends_nothing_that_had_passed(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 20);
	int64_t before = atlock_now(s->al);
	stage_close(s);
	stage_set_wall(s, -HOUR);
	stage_open(s);
	assert_true(atlock_now(s->al) == before);
	ends_in(s, 40);
}

static void instants_go_on_after_a_crash(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 20);
	crash(s);
	ends_in(s, 40);
}

static void step(struct stage *s, int64_t seconds)
{
	stage_set_wall(s, seconds);
	assert_int_equal(lease_note_clock(s->al), 0);
}

/* Any order of steps, pauses, crashes and restarts; steady time is all that counts while open. */
static void lease_time_never_goes_back(void **state)
{
	struct stage *s = *state;
	uint32_t random = 12345;
	int64_t last = atlock_now(s->al);

	for (int i = 0; i < 2000; i++) {
		random = random * 1664525 + 1013904223;
		int64_t by = (int64_t)(random >> 16) % 1000;

		switch (random >> 28) {
		case 0: step(s, by); break;
		case 1: step(s, -by); break;
		case 2: gone_for(s, by); break;
		case 3: crash(s); break;
		case 4: (void)stage_acquire(s, LOCK, "alice@1", by + 1); break;
		default: stage_advance(s, by); break;
		}
		assert_true(atlock_now(s->al) >= last);
		last = atlock_now(s->al);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(wall_clock_set_forward_ends_nothing),
		STAGED(wall_clock_set_back_extends_nothing),
		STAGED(expiry_is_shown_in_the_wall_time_of_today),
		STAGED(pause_between_the_clocks_moves_nothing),
		STAGED(lease_runs_on_while_the_manager_is_gone),
		STAGED(lease_that_ended_meanwhile_is_over),
		STAGED(wall_clock_set_while_open_does_not_matter_after_a_restart),
		STAGED(step_that_was_noted_survives_a_crash),
		STAGED(step_before_a_rest_ended_survives_a_crash),
		STAGED(wall_clock_set_back_while_closed_extends_nothing_that_had_passed),
		STAGED(instants_go_on_after_a_crash),
		STAGED(lease_time_never_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
