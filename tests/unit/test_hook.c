/*
 * Commands that get events: which ones, how many at a time, and what happens to those that fail, hang or cannot keep up. On
 * real processes.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "health.h"
#include "hook.h"
#include "hook_run.h"

#define PATIENCE 2000 /* times 10 ms */

static void nap(void)
{
	struct timespec ts = { .tv_nsec = 10 * 1000 * 1000 };

	nanosleep(&ts, NULL);
}

static struct hook_stats stats_of(struct stage *s)
{
	struct hook_stats stats;

	hook_stats(s->al, &stats);
	return stats;
}

#define await(s, condition)                                                   \
	do {                                                                  \
		int left = PATIENCE;                                          \
		struct hook_stats stats = stats_of(s);                        \
		for (; left > 0 && !(condition); left--, stats = stats_of(s)) \
			nap();                                                \
		if (left == 0)                                                \
			fail_msg("never: %s", #condition);                    \
	} while (0)

static void text_is_on_standard_input(void **state)
{
	struct hook_run run;
	int status = -1;

	(void)state;
	assert_int_equal(
		hook_run_start(&run, "read -r a b && test \"$a $b\" = 'one two' && ! read -r c", "one two\n", 8), 0);
	while (hook_run_check(&run, &status) == 1)
		nap();
	assert_int_equal(status, 0);
	assert_int_equal(run.pid, 0);
}

static void killing_takes_its_children_too(void **state)
{
	struct hook_run run;
	pid_t group;

	(void)state;
	assert_int_equal(hook_run_start(&run, "sleep 1000 & sleep 1000", "", 0), 0);
	group = run.pid;
	hook_run_kill(&run);
	for (int i = 0; i < PATIENCE && kill(-group, 0) == 0; i++)
		nap();
	assert_int_equal(kill(-group, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void nothing_runs_without_a_command(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stats_of(s).behind, 0);
	assert_int_equal(stats_of(s).ok, 0);
}

/* From the change of the option on; what was before is not told. */
static void every_event_is_handed_over_once(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	stage_configure(s, "on_event", "exec cat >/dev/null");
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	await(s, stats.ok == 2);
	stage_configure(s, "on_event", "");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	await(s, stats.behind == 0);
	/* That change is committed before it is in force: the command may still be given it, and nothing after it. */
	assert_in_range(stats_of(s).ok, 2, 3);
	assert_int_equal(stats_of(s).dropped, 0);
}

static void failures_are_tried_again_and_open_the_breaker(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "on_event", "exit 1");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	await(s, stats.opened == 1);
	assert_true(stats_of(s).failed >= 5);
	assert_int_equal(stats_of(s).ok, 0);
	/* An event whose command failed three times is dropped, which is counted. */
	await(s, stats.dropped > 0);
	assert_true(stats_of(s).drop_age < 60 * ATLOCK_SECOND);
	stage_configure(s, "on_event", "exit 0");
	await(s, stats.ok > 0 && stats.breaker == BREAKER_CLOSED && stats.behind == 0);
}

static const char *check_of(const struct health_report *report, const char *name)
{
	for (size_t i = 0; i < HEALTH_CHECKS; i++)
		if (strcmp(report->checks[i].name, name) == 0)
			return report->checks[i].text;
	return "";
}

/* All slots hang: calls go on, the oldest of what is waiting is dropped, and closing does not wait for long. */
static void overload_drops_and_counts(void **state)
{
	struct stage *s = *state;
	struct health_report report;
	struct timespec begin;
	struct timespec end;

	stage_configure(s, "on_event", "exec sleep 1000");
	for (int i = 0; i < HOOK_BACKLOG; i++) {
		assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
		assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	}
	await(s, stats.dropped > 0 && stats.behind <= HOOK_BACKLOG);
	health_look(s->al, false, &report);
	assert_non_null(strstr(check_of(&report, "hooks"), "has missed"));
	assert_true(stats_of(s).lag > 0);
	assert_int_equal(stats_of(s).ok + stats_of(s).failed, 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	stage_close(s);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - begin.tv_sec < 20);
	s->options.on_event[0] = '\0';
	stage_open(s);
}

static void only_root_says_what_is_run(void **state)
{
	struct stage *s = *state;
	struct atlock_caller admin = stage_caller("alice@1");
	struct atlock_caller root = stage_caller("root@1");

	admin.admin = true;
	assert_int_equal(atlock_configure(s->al, &admin, "max_queue", "5", &s->why), 0);
	assert_int_equal(atlock_configure(s->al, &admin, "on_event", "id", &s->why), -EPERM);
	assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
	root.uid = 0;
	assert_int_equal(atlock_configure(s->al, &root, "on_event", "true", &s->why), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_on_standard_input),
		cmocka_unit_test(killing_takes_its_children_too),
		STAGED_LIVE(nothing_runs_without_a_command),
		STAGED_LIVE(every_event_is_handed_over_once),
		STAGED_LIVE(failures_are_tried_again_and_open_the_breaker),
		STAGED_LIVE(overload_drops_and_counts),
		STAGED_LIVE(only_root_says_what_is_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
