/*
 * queue_timeout=auto: how long it is worth waiting, by how long the lock was held before and how many come first.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "atlock/manual.h"
#include "expect.h"

#define LOCK "global/a"
#define S ATLOCK_SECOND

/* How long the ticket of a newcomer lasts. */
static int64_t patience(struct stage *s, const char *lock, const char *as, enum atlock_priority priority)
{
	struct atlock_name name = stage_name(lock);
	struct atlock_ticket ticket;
	uint64_t number = 0;
	int64_t timeout;

	assert_int_equal(stage_enqueue(s, lock, as, priority, &number), 0);
	assert_int_equal(atlock_ticket_get(s->al, &name, number, NULL, NULL, &ticket), 0);
	timeout = ticket.deadline - ticket.since;
	atlock_ticket_clear(&ticket);
	return timeout;
}

/* From now on the lock is known to be held for so long. */
static void learn(struct stage *s, int64_t seconds)
{
	assert_int_equal(stage_acquire(s, LOCK, "zoe@1", 7200), 0);
	stage_advance(s, seconds);
	assert_int_equal(stage_release(s, LOCK, "zoe@1"), 0);
}

static void formula_has_bounds(void **state)
{
	(void)state;
	assert_true(expect_timeout(-1) == 600 * S);
	assert_true(expect_timeout(0) == 60 * S);
	assert_true(expect_timeout(20 * S) == 60 * S);
	assert_true(expect_timeout(21 * S) == 63 * S);
	assert_true(expect_timeout(3600 * S) == 3 * 3600 * S);
	assert_true(expect_timeout(8 * 3600 * S) == 24 * 3600 * S);
	assert_true(expect_timeout(ATLOCK_NEVER) == 24 * 3600 * S);
}

static void late_waits_and_crowds_make_it_longer(void **state)
{
	(void)state;
	assert_true(expect_stretch(&(struct expect_load){ .served = 0 }, 60 * S) == 60 * S);
	assert_true(expect_stretch(&(struct expect_load){ .served = 10, .timed_out = 9 }, 60 * S) == 60 * S);
	assert_true(expect_stretch(&(struct expect_load){ .served = 100 }, 60 * S) == 60 * S);
	assert_true(expect_stretch(&(struct expect_load){ .served = 10, .timed_out = 10 }, 60 * S) == 120 * S);
	assert_true(expect_stretch(&(struct expect_load){ .timed_out = 100 }, 60 * S) == 240 * S);
	assert_true(expect_stretch(&(struct expect_load){ .held = 2, .waiting = 8 }, 60 * S) == 60 * S);
	assert_true(expect_stretch(&(struct expect_load){ .held = 2, .waiting = 12 }, 60 * S) == 90 * S);
	assert_true(expect_stretch(&(struct expect_load){ .held = 1, .waiting = 900 }, 60 * S) == 120 * S);
	assert_true(expect_stretch(&(struct expect_load){ .timed_out = 100 }, 23 * 3600 * S) == 24 * 3600 * S);
}

/* Twenty waits that ended too early: the next may last four times as long. */
static void share_of_waits_that_ended_in_time_counts(void **state)
{
	struct stage *s = *state;
	char as[16];

	stage_configure(s, "queue_timeout", "auto");
	stage_configure(s, "max_ttl", "1d");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 86400), 0);
	for (int i = 0; i < EXPECT_WAITS; i++) {
		(void)snprintf(as, sizeof(as), "bob@%d", i);
		assert_true(patience(s, LOCK, as, ATLOCK_NORMAL) == 600 * S);
		stage_advance(s, 601);
		assert_true(atlock_run_due(s->al) >= 0);
	}
	assert_true(patience(s, LOCK, "carol@1", ATLOCK_NORMAL) == 4 * 600 * S);
}

static void lock_that_nothing_is_known_of(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "queue_timeout", "auto");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 7200), 0);
	assert_true(patience(s, LOCK, "bob@1", ATLOCK_NORMAL) == 600 * S);
}

static void those_before_count_with_the_mean_hold_time(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "queue_timeout", "auto");
	learn(s, 100);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 7200), 0);
	assert_true(patience(s, LOCK, "bob@1", ATLOCK_NORMAL) == 3 * 100 * S);
	assert_true(patience(s, LOCK, "bob@2", ATLOCK_NORMAL) == 3 * 200 * S);
	assert_true(patience(s, LOCK, "bob@3", ATLOCK_LOW) == 3 * 300 * S);
	assert_true(patience(s, LOCK, "bob@4", ATLOCK_CRITICAL) == 3 * 100 * S);
	assert_true(patience(s, LOCK, "bob@5", ATLOCK_HIGH) == 3 * 200 * S);
}

static void time_that_the_holder_has_had_counts(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "queue_timeout", "auto");
	learn(s, 100);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 7200), 0);
	stage_advance(s, 60);
	assert_true(patience(s, LOCK, "bob@1", ATLOCK_NORMAL) == 3 * 40 * S);
	stage_advance(s, 1000);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
}

static void request_may_say_otherwise(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req;

	stage_configure(s, "queue_timeout", "auto");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 7200), 0);
	req = stage_ask(s, LOCK, "bob@1");
	req->timeout = 5 * S;
	assert_int_equal(atlock_enqueue(s->al, req, NULL, NULL, &s->why), 0);
	stage_advance(s, 6);
	assert_string_equal(stage_queue(s, LOCK), "");
}

static void option_reads_as_it_is_written(void **state)
{
	struct stage *s = *state;
	struct atlock_options options;
	char text[32];

	stage_configure(s, "queue_timeout", "auto");
	atlock_options_read(s->al, &options);
	assert_int_equal(atlock_option_get(&options, "queue_timeout", text, sizeof(text)), 0);
	assert_string_equal(text, "auto");
	assert_int_equal(atlock_option_set(&options, "queue_timeout", "0", &s->why), -ERANGE);
	assert_non_null(strstr(s->why.text, "or auto"));
	assert_int_equal(atlock_option_set(&options, "default_ttl", "auto", &s->why), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formula_has_bounds),
		cmocka_unit_test(late_waits_and_crowds_make_it_longer),
		STAGED(share_of_waits_that_ended_in_time_counts),
		STAGED(lock_that_nothing_is_known_of),
		STAGED(those_before_count_with_the_mean_hold_time),
		STAGED(time_that_the_holder_has_had_counts),
		STAGED(request_may_say_otherwise),
		STAGED(option_reads_as_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
