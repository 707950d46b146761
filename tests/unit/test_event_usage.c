/* What users are charged with for the events of their waits: as much as these take, however the wait ends. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "atlock/manual.h"
#include "day.h"
#include "event_usage.h"
#include "stage.h"
#include "state.h"

#define LOCK "global/apply-17"

static uint64_t usage_of(struct stage *s, const char *as)
{
	struct atlock_caller caller = stage_caller(as);
	int64_t now;
	int64_t wall;

	clock_read(&s->al->clock, &now, &wall);
	return event_usage_get(s->al->event_usages, caller.uid, day_of(wall));
}

/* Each returns how many events of bob's it made. */

static uint64_t wait_cancelled(struct stage *s)
{
	uint64_t ticket;

	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, &ticket), 0);
	assert_int_equal(atlock_cancel(s->al, stage_ask(s, LOCK, "bob@1"), ticket, &s->why), 0);
	return 2;
}

static uint64_t call_interrupted(struct stage *s)
{
	uint64_t wait;

	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, stage_told(s), &wait), 1);
	assert_int_equal(atlock_wait_cancel(s->al, wait), 0);
	return 2;
}

static uint64_t wait_timed_out(struct stage *s)
{
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	stage_advance(s, 601);
	assert_true(atlock_run_due(s->al) > 0);
	return 2;
}

static uint64_t wait_moved_and_cancelled(struct stage *s)
{
	struct atlock_name name = stage_name(LOCK);
	struct atlock_request *ask;
	struct atlock_ticket moved;
	uint64_t ticket;

	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, &ticket), 0);
	ask = stage_ask(s, LOCK, "bob@1");
	ask->priority = ATLOCK_HIGH;
	assert_int_equal(atlock_reprioritise(s->al, ask, ticket, &s->why), 0);
	assert_int_equal(atlock_ticket_find(s->al, &name, ATLOCK_HIGH, "1", &moved), 0);
	assert_int_equal(atlock_cancel(s->al, stage_ask(s, LOCK, "bob@1"), moved.ticket, &s->why), 0);
	atlock_ticket_clear(&moved);
	return 3;
}

static uint64_t call_granted(struct stage *s)
{
	struct told *told = stage_told(s);

	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(told_await(told), 0);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
	return 3;
}

static uint64_t ticket_granted(struct stage *s)
{
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 0), 1);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
	return 4;
}

static uint64_t ticket_not_claimed(struct stage *s)
{
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	return 3;
}

static void wait_is_charged_as_its_events(void **state)
{
	static uint64_t (*const ways[])(struct stage * s) = {
		wait_cancelled, call_interrupted, wait_timed_out,     wait_moved_and_cancelled,
		call_granted,   ticket_granted,   ticket_not_claimed,
	};
	struct stage *s = *state;
	uint64_t two; /* bob's own acquire and release, before any wait */

	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 0), 0);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
	two = usage_of(s, "bob@1");
	assert_true(two > 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint64_t before = usage_of(s, "bob@1");
		uint64_t alice;
		uint64_t events;
		uint64_t bytes;

		assert_in_range(stage_acquire(s, LOCK, "alice@1", 3600), 0, 1);
		alice = usage_of(s, "alice@1");
		events = ways[i](s);
		bytes = usage_of(s, "bob@1") - before;
		if (bytes > two * events * 5 / 8 || bytes < two * events * 3 / 8)
			fail_msg("way %zu: %ju bytes for %ju events, %ju for two of a lock", i, (uintmax_t)bytes,
				 (uintmax_t)events, (uintmax_t)two);
		assert_int_equal(usage_of(s, "alice@1"), alice);
		if (strcmp(stage_holder(s, LOCK), "free") != 0)
			assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(wait_is_charged_as_its_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
