/*
 * What is counted, and that it is counted once: every update function of a stage runs twice.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics.h"

/* One sample of the text; it must be there. */
static double sample(struct stage *s, const char *name)
{
	size_t len = 0;
	char *text = atlock_metrics_text(s->al, &len);
	char line[256];
	const char *at;
	double value;

	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	(void)snprintf(line, sizeof(line), "\natlockfs_%s ", name);
	at = strstr(text, line);
	if (at == NULL)
		fail_msg("no %s in:\n%s", name, text);
	value = at == NULL ? -1 : strtod(at + strlen(line), NULL);
	free(text);
	return value;
}

static bool has_sample(struct stage *s, const char *name)
{
	size_t len = 0;
	char *text = atlock_metrics_text(s->al, &len);
	bool found = text != NULL && strstr(text, name) != NULL;

	free(text);
	return found;
}

#define assert_sample(s, name, value) assert_true(sample(s, name) == (double)(value))

static void calls_are_counted_by_operation_and_outcome(void **state)
{
	struct stage *s = *state;

	assert_false(has_sample(s, "operation=\"acquire\",code=\"LOCK_EXISTS\""));
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 1);
	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 60), -EACCES);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 100000), -EINVAL);
	assert_int_equal(stage_renew(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_renew(s, "global/b", "alice@1", 60), -ENOENT);
	assert_int_equal(stage_write(s, "global/a", "alice@1", "reason=x\n"), 0);
	assert_int_equal(stage_write(s, "global/a", "alice@1", "ttl=x\n"), -EINVAL);
	assert_int_equal(stage_transfer(s, "global/a", "alice@1", "alice@2"), 0);
	assert_int_equal(stage_release(s, "global/a", "bob@1"), -EACCES);
	assert_int_equal(stage_release(s, "global/a", "alice@2"), 0);
	assert_sample(s, "operations_total{operation=\"acquire\",code=\"OK\"}", 2);
	assert_sample(s, "operations_total{operation=\"acquire\",code=\"LOCK_EXISTS\"}", 1);
	assert_sample(s, "operations_total{operation=\"acquire\",code=\"INVALID_REQUEST\"}", 1);
	assert_sample(s, "operation_duration_seconds_count{operation=\"acquire\"}", 4);
	assert_sample(s, "operation_duration_seconds_bucket{operation=\"acquire\",le=\"+Inf\"}", 4);
	assert_sample(s, "operations_total{operation=\"renew\",code=\"OK\"}", 1);
	assert_sample(s, "operations_total{operation=\"renew\",code=\"LOCK_NOT_FOUND\"}", 1);
	assert_sample(s, "operations_total{operation=\"write\",code=\"OK\"}", 1);
	assert_sample(s, "operations_total{operation=\"write\",code=\"INVALID_REQUEST\"}", 1);
	assert_sample(s, "operations_total{operation=\"transfer\",code=\"OK\"}", 1);
	assert_sample(s, "operations_total{operation=\"release\",code=\"OK\"}", 1);
	assert_sample(s, "operations_total{operation=\"release\",code=\"PERMISSION_DENIED\"}", 1);
	assert_sample(s, "operations_total{operation=\"force\",code=\"OK\"}", 0);
	assert_sample(s, "events_total{type=\"acquired\"}", 1);
	assert_sample(s, "events_total{type=\"released\"}", 1);
}

/* Nobody asks why, and it still has a code. */
static void refusal_without_a_reason_is_counted_by_its_errno(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(atlock_acquire(s->al, stage_ask(s, "global/a", "alice@2"), NULL, NULL), -EBUSY);
	assert_sample(s, "operations_total{operation=\"acquire\",code=\"LOCK_EXISTS\"}", 1);
}

static void release_by_force_is_an_operation_of_its_own(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	req = stage_ask(s, "global/a@1", "root@1");
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 0);
	assert_sample(s, "operations_total{operation=\"force\",code=\"OK\"}", 1);
	assert_sample(s, "operations_total{operation=\"release\",code=\"OK\"}", 0);
	assert_sample(s, "events_total{type=\"forced\"}", 1);
}

static void waits_are_counted_when_they_end(void **state)
{
	struct stage *s = *state;
	uint64_t wait = 0;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 3600), 0);
	assert_int_equal(stage_wait(s, "global/a", "bob@1", ATLOCK_HIGH, stage_told(s), NULL), 1);
	assert_int_equal(stage_wait(s, "global/a", "carol@1", ATLOCK_LOW, stage_told(s), &wait), 1);
	assert_int_equal(stage_wait(s, "global/a", "dora@1", ATLOCK_NORMAL, stage_told(s), NULL), 1);
	assert_int_equal(stage_enqueue(s, "global/a", "erna@1", ATLOCK_NORMAL, NULL), 0);
	stage_advance(s, 20);
	assert_sample(s, "waiters{priority=\"high\"}", 1);
	assert_sample(s, "waiters{priority=\"normal\"}", 2);
	assert_sample(s, "waiters{priority=\"critical\"}", 0);
	assert_sample(s, "oldest_wait_seconds{priority=\"low\"}", 20);
	assert_sample(s, "queues", 1);
	assert_sample(s, "longest_queue_waiters", 4);
	assert_sample(s, "operation_duration_seconds_count{operation=\"wait\"}", 0);
	assert_sample(s, "operations_total{operation=\"enqueue\",code=\"OK\"}", 1);

	assert_int_equal(atlock_wait_cancel(s->al, wait), 0);
	assert_sample(s, "operations_total{operation=\"wait\",code=\"CANCELLED\"}", 1);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	assert_sample(s, "operations_total{operation=\"wait\",code=\"OK\"}", 1);
	assert_sample(s, "wait_duration_seconds_count{priority=\"high\"}", 1);
	assert_sample(s, "wait_duration_seconds_sum{priority=\"high\"}", 20);
	assert_sample(s, "wait_duration_seconds_bucket{priority=\"high\",le=\"10\"}", 0);
	assert_sample(s, "wait_duration_seconds_bucket{priority=\"high\",le=\"30\"}", 1);
	assert_sample(s, "wait_duration_seconds_count{priority=\"low\"}", 0);
	stage_advance(s, 700);
	assert_true(atlock_run_due(s->al) > 0);
	assert_sample(s, "operations_total{operation=\"wait\",code=\"TIMEOUT\"}", 1);
	assert_sample(s, "events_total{type=\"timed_out\"}", 2);
	assert_sample(s, "waiters{priority=\"normal\"}", 0);
	assert_sample(s, "queues", 0);
}

static void hold_times_and_expiries(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 60), 0);
	assert_sample(s, "locks_held", 2);
	stage_advance(s, 5);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	assert_sample(s, "hold_duration_seconds_sum", 5);
	stage_advance(s, 56);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_sample(s, "events_total{type=\"expired\"}", 1);
	assert_sample(s, "hold_duration_seconds_count", 2);
	assert_sample(s, "hold_duration_seconds_sum", 66);
	assert_sample(s, "locks_held", 0);
}

static void deadlocks(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 60), 0);
	assert_int_equal(stage_wait(s, "global/b", "alice@1", ATLOCK_NORMAL, stage_told(s), NULL), 1);
	assert_int_equal(stage_wait(s, "global/a", "bob@1", ATLOCK_NORMAL, stage_told(s), NULL), -EDEADLK);
	assert_sample(s, "events_total{type=\"deadlock\"}", 1);
	assert_sample(s, "operations_total{operation=\"wait\",code=\"DEADLOCK\"}", 1);
}

/* Counters begin anew with the manager; what stands in the store does not. */
static void counters_begin_with_the_manager(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	stage_reopen(s);
	assert_sample(s, "operations_total{operation=\"acquire\",code=\"OK\"}", 0);
	assert_sample(s, "locks_held", 1);
	assert_sample(s, "events_total{type=\"opened\"}", 1);
	assert_sample(s, "start_time_seconds", (double)s->time.wall / 1e9);
}

static void bounds_rise(void **state)
{
	(void)state;
	for (size_t i = 1; i < METRICS_BOUNDS; i++)
		assert_true(metrics_bound(i) > metrics_bound(i - 1));
}

static void commits_and_their_batches(void **state)
{
	struct stage *s = *state;
	double before = sample(s, "store_commit_updates_count");

	for (int i = 0; i < 5; i++) {
		assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
		assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	}
	assert_true(sample(s, "store_commit_updates_count") >= before + 10);
	assert_true(sample(s, "store_commit_updates_bucket{le=\"1\"}") > 0);
	assert_true(sample(s, "store_commit_updates_sum") == sample(s, "store_updates_total"));
	assert_true(sample(s, "store_commit_seconds_total") > 0);
	assert_true(sample(s, "store_used_bytes") > 0 && sample(s, "store_free_bytes") > 0);
	assert_true(sample(s, "memory_resident_bytes") > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(calls_are_counted_by_operation_and_outcome),
		STAGED(refusal_without_a_reason_is_counted_by_its_errno),
		STAGED(release_by_force_is_an_operation_of_its_own),
		STAGED(waits_are_counted_when_they_end),
		STAGED(hold_times_and_expiries),
		STAGED(deadlocks),
		STAGED(counters_begin_with_the_manager),
		cmocka_unit_test(bounds_rise),
		STAGED_LIVE(commits_and_their_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
