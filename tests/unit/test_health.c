/*
 * Health: each check finds what it is for, the worst of them comes first, and looking costs at most a commit a second.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "health.h"
#include "state.h"

/* What `cat health` prints. Free it. */
static char *health(struct stage *s)
{
	size_t len = 0;
	char *text = atlock_health_text(s->al, true, &len);

	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	return text;
}

/* The first line begins so, and there is this line among the checks. */
static void assert_health(struct stage *s, const char *first, const char *check)
{
	char *text = health(s);

	if (strncmp(text, first, strlen(first)) != 0 || strstr(text, check) == NULL)
		fail_msg("no \"%s\" and \"%s\" in:\n%s", first, check, text);
	free(text);
}

/* The last commit was made longer ago than a second. */
static void later(struct stage *s)
{
	s->al->health->done -= 2 * ATLOCK_SECOND;
}

static void all_is_well_at_first(void **state)
{
	struct stage *s = *state;

	assert_health(s, "ok\n", "\nstore=ok\nroom=ok\nsweeper=ok\nwriter=ok\nclock=ok\nmemory=ok\n");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_health(s, "ok\n", "\nheld=1\nwaiting=0\n");
}

static void store_is_written_to_at_most_once_a_second(void **state)
{
	struct stage *s = *state;
	uint64_t before = stage_commits(s);

	free(health(s));
	assert_int_equal(stage_commits(s), before + 1);
	free(health(s));
	assert_int_equal(stage_commits(s), before + 1);
	later(s);
	free(health(s));
	assert_int_equal(stage_commits(s), before + 2);
}

static void looking_without_a_probe_writes_nothing(void **state)
{
	struct stage *s = *state;
	uint64_t before = stage_commits(s);
	size_t len = 0;
	char *text = atlock_health_text(s->al, false, &len);

	assert_non_null(text);
	assert_int_equal(stage_commits(s), before);
	free(text);
}

static void store_that_cannot_be_written_is_failing(void **state)
{
	struct stage *s = *state;

	mem_world_faults(s->world)->fail_error = EROFS;
	mem_world_faults(s->world)->fail_in = 1;
	assert_health(s, "failing store: it cannot be written: Read-only file system\n",
		      "\nstore=failing it cannot be written: Read-only file system\n");
	later(s);
	assert_health(s, "ok\n", "\nstore=ok\n");
}

static void slow_commit_is_degraded(void **state)
{
	struct stage *s = *state;

	free(health(s));
	s->al->health->took = 1500 * INT64_C(1000000);
	assert_health(s, "degraded store: a commit took 1500 ms\n", "\nstore=degraded a commit");
}

static void store_without_room_is_degraded(void **state)
{
	struct stage *s = *state;

	mem_world_faults(s->world)->max_keys = 1;
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), -EDQUOT);
	assert_health(s,
		      "degraded room: taking locks is refused: archive events (atlock audit archive --before now FILE)",
		      "\nroom=degraded taking locks");
}

static void thread_that_does_not_answer_is_degraded_then_failing(void **state)
{
	struct stage *s = *state;

	s->al->health->asked = steady_now() - 3 * ATLOCK_SECOND;
	assert_health(s, "degraded sweeper: it has not answered for 3 s", "\nsweeper=degraded it has");
	s->al->health->asked = steady_now() - 40 * ATLOCK_SECOND;
	assert_health(s, "failing sweeper: it has not answered for 40 s", "\nsweeper=failing it has");
}

static void clock_that_was_set_shows_for_five_minutes(void **state)
{
	struct stage *s = *state;

	free(health(s));
	stage_advance(s, 100);
	assert_health(s, "ok\n", "\nclock=ok\n");
	stage_set_wall(s, 3600);
	assert_health(s, "degraded clock: the wall clock was set by 3600 s; leases go on as they were\n",
		      "\nclock=degraded the wall clock");
	assert_health(s, "degraded clock: ", "");
	s->al->health->stepped -= 300 * ATLOCK_SECOND;
	assert_health(s, "ok\n", "\nclock=ok\n");
}

static void worst_check_comes_first(void **state)
{
	struct stage *s = *state;

	mem_world_faults(s->world)->max_keys = 1;
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), -EDQUOT);
	s->al->health->asked = steady_now() - 40 * ATLOCK_SECOND;
	assert_health(s, "failing sweeper: ", "\nroom=degraded ");
}

/* With the manager's own thread, which makes the commit. */
static void own_thread_answers(void **state)
{
	struct stage *s = *state;

	assert_health(s, "ok\n", "\nsweeper=ok\n");
	assert_true(s->al->health->done != 0);
	assert_int_equal(s->al->health->asked, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(all_is_well_at_first),
		STAGED(store_is_written_to_at_most_once_a_second),
		STAGED(looking_without_a_probe_writes_nothing),
		STAGED(store_that_cannot_be_written_is_failing),
		STAGED(slow_commit_is_degraded),
		STAGED(store_without_room_is_degraded),
		STAGED(thread_that_does_not_answer_is_degraded_then_failing),
		STAGED(clock_that_was_set_shows_for_five_minutes),
		STAGED(worst_check_comes_first),
		STAGED_LIVE(own_thread_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
