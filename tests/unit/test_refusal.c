/*
 * Refusals in the event log: each is there with its code and who asked for what, up to so many a second; all are counted, and
 * none costs its caller a commit.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "global/a"

static char log_text[4096];

static int log_add(void *arg, const struct atlock_event *event)
{
	struct stage *s = arg;
	size_t used = strlen(log_text);

	(void)snprintf(log_text + used, sizeof(log_text) - used, "%s(%s) %s%s %s@%s by %s: %s, %ju skipped\n",
		       atlock_event_name(event->type), atlock_code_name(event->code), event->lock, event->old,
		       event->owner, event->who, event->actor, event->new, (uintmax_t)event->skipped);
	s->seen = event->seq;
	return 0;
}

/* What was written since this was asked last. */
static void log_is(struct stage *s, const char *expected)
{
	log_text[0] = '\0';
	assert_int_equal(atlock_events(s->al, s->seen + 1, log_add, s), 0);
	assert_string_equal(log_text, expected);
}

/* How many were refused with this code, as the metrics have it. */
static unsigned long counted(struct stage *s, const char *code)
{
	char line[128];
	size_t len;
	char *text = atlock_metrics_text(s->al, &len);

	assert_non_null(text);
	(void)snprintf(line, sizeof(line), "\natlockfs_refusals_total{code=\"%s\"} ", code);
	const char *at = strstr(text, line);
	assert_non_null(at);
	unsigned long count = strtoul(at + strlen(line), NULL, 10);
	free(text);
	return count;
}

/* alice has the lock, and nothing of that is asked for any more. */
static void held_by_alice(struct stage *s)
{
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	(void)stage_events(s);
}

/* Asks for it so many times. */
static void refused_to(struct stage *s, const char *as, int times)
{
	for (int i = 0; i < times; i++)
		assert_int_equal(stage_acquire(s, LOCK, as, 60), -EACCES);
}

static void refusals_are_written_later_and_together(void **state)
{
	struct stage *s = *state;
	uint64_t commits;

	held_by_alice(s);
	commits = stage_commits(s);
	refused_to(s, "bob@2", 1);
	assert_int_equal(stage_release(s, LOCK, "bob@2"), -EACCES);
	assert_int_equal(stage_renew(s, "global/b", "bob@2", 60), -ENOENT);
	struct atlock_caller carol = stage_caller("carol@3");
	struct atlock_name name = stage_name(LOCK);
	assert_int_equal(atlock_holds(s->al, &name, &carol, NULL, &s->why), -EACCES);
	assert_int_equal(stage_commits(s), commits);
	log_is(s, "");
	assert_int_equal(atlock_run_refused(s->al), 4);
	assert_int_equal(stage_commits(s), commits + 1);
	log_is(s, "refused(LOCK_EXISTS) global/a bob@2 by bob: acquire, 0 skipped\n"
		  "refused(PERMISSION_DENIED) global/a bob@2 by bob: release, 0 skipped\n"
		  "refused(LOCK_NOT_FOUND) global/b bob@2 by bob: renew, 0 skipped\n"
		  "refused(LOCK_EXISTS) global/a carol@3 by carol: , 0 skipped\n");
	assert_int_equal(atlock_run_refused(s->al), 0);
	assert_int_equal(stage_commits(s), commits + 1);
	assert_int_equal(counted(s, "LOCK_EXISTS"), 2);
}

static void more_than_so_many_a_second_are_only_counted(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "events_refused", "2");
	held_by_alice(s);
	refused_to(s, "bob@2", 500);
	assert_int_equal(atlock_run_refused(s->al), 2);
	refused_to(s, "bob@2", 1);
	assert_int_equal(atlock_run_refused(s->al), 0);
	stage_advance(s, 1);
	refused_to(s, "bob@2", 1);
	assert_int_equal(atlock_run_refused(s->al), 1);
	log_is(s, "refused(LOCK_EXISTS) global/a bob@2 by bob: acquire, 0 skipped\n"
		  "refused(LOCK_EXISTS) global/a bob@2 by bob: acquire, 0 skipped\n"
		  "refused(LOCK_EXISTS) global/a bob@2 by bob: acquire, 499 skipped\n");
	assert_int_equal(counted(s, "LOCK_EXISTS"), 502);
	stage_configure(s, "events_refused", "0");
	stage_advance(s, 1);
	refused_to(s, "bob@2", 1);
	assert_int_equal(atlock_run_refused(s->al), 0);
	assert_int_equal(counted(s, "LOCK_EXISTS"), 503);
}

static void flood_of_one_user_hides_nothing_of_another(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "events_refused", "2");
	held_by_alice(s);
	refused_to(s, "bob@2", 500);
	refused_to(s, "carol@3", 1);
	assert_int_equal(atlock_run_refused(s->al), 3);
	stage_advance(s, 1);
	refused_to(s, "carol@3", 1);
	refused_to(s, "bob@2", 1);
	assert_int_equal(atlock_run_refused(s->al), 2);
	log_is(s, "refused(LOCK_EXISTS) global/a bob@2 by bob: acquire, 0 skipped\n"
		  "refused(LOCK_EXISTS) global/a bob@2 by bob: acquire, 0 skipped\n"
		  "refused(LOCK_EXISTS) global/a carol@3 by carol: acquire, 0 skipped\n"
		  "refused(LOCK_EXISTS) global/a carol@3 by carol: acquire, 0 skipped\n"
		  "refused(LOCK_EXISTS) global/a bob@2 by bob: acquire, 498 skipped\n");
}

/* Nor does it when one person has more user numbers than are counted apart, once those are quiet. */
static void users_that_are_quiet_give_way_to_others(void **state)
{
	struct atlock_why why = { .code = ATLOCK_PERMISSION_DENIED, .text = "no" };
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@2");

	stage_configure(s, "events_refused", "1");
	for (bob.uid = 0; bob.uid < 2000; bob.uid++) {
		for (int i = 0; i < 3; i++) {
			why.noted = false;
			atlock_refused(s->al, &bob, NULL, NULL, &why);
		}
		(void)atlock_run_refused(s->al);
	}
	stage_advance(s, 1);
	(void)stage_events(s);
	for (bob.uid = 5000; bob.uid < 5100; bob.uid++) {
		why.noted = false;
		atlock_refused(s->al, &bob, NULL, NULL, &why);
	}
	assert_int_equal(atlock_run_refused(s->al), 100);
}

/* What could not be written is counted as skipped, and the log goes on. */
static void refusals_that_could_not_be_written_are_counted(void **state)
{
	struct stage *s = *state;

	held_by_alice(s);
	refused_to(s, "bob@2", 2);
	*mem_world_faults(s->world) = (struct mem_faults){ .rerun_percent = 100, .fail_in = 1, .fail_error = EIO };
	assert_int_equal(atlock_run_refused(s->al), -EIO);
	refused_to(s, "bob@2", 1);
	assert_int_equal(atlock_run_refused(s->al), 1);
	log_is(s, "refused(LOCK_EXISTS) global/a bob@2 by bob: acquire, 2 skipped\n");
}

/* The victim of a deadlock has an event of its own; a store that fails is no refusal. */
static void what_is_no_refusal_is_not_written(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@2", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/b", "alice@1", ATLOCK_NORMAL, NULL), 0);
	(void)stage_events(s);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@2", ATLOCK_NORMAL, NULL), -EDEADLK);
	assert_int_equal(atlock_run_refused(s->al), 0);
	assert_non_null(strstr(stage_events(s), "deadlock"));
	*mem_world_faults(s->world) = (struct mem_faults){ .rerun_percent = 100, .fail_in = 1, .fail_error = EIO };
	assert_int_equal(stage_release(s, "global/a", "alice@1"), -EIO);
	assert_int_equal(atlock_run_refused(s->al), 0);
}

static void refusals_decided_elsewhere_are_written_once(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@2");
	struct atlock_why why = { .code = ATLOCK_PERMISSION_DENIED, .text = "no" };

	atlock_refused(s->al, &bob, NULL, NULL, &why);
	atlock_refused(s->al, &bob, NULL, NULL, &why);
	why = (struct atlock_why){ .code = ATLOCK_OK };
	atlock_refused(s->al, &bob, NULL, NULL, &why);
	atlock_refused(NULL, &bob, NULL, NULL, &why);
	atlock_refused(s->al, NULL, NULL, NULL, &why);
	assert_int_equal(atlock_run_refused(s->al), 1);
	log_is(s, "refused(PERMISSION_DENIED)  bob@ by bob: , 0 skipped\n");
	assert_int_equal(atlock_run_refused(NULL), -EINVAL);
}

static int line_seen(void *arg, const struct atlock_event *event)
{
	(void)snprintf(arg, 1024, "%.*s", (int)event->line_len, event->line);
	return 0;
}

/* A lock by its path; something else as the subject, of which the end is kept. */
static void refusals_decided_elsewhere_say_about_what(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@2");
	struct atlock_name name;
	char line[1024] = "";
	char path[301];

	(void)snprintf(path, sizeof(path), "%0300d", 7);
	assert_int_equal(atlock_name_parse(LOCK "@x", &name, NULL), 0);
	atlock_refused(s->al, &bob, &name, "not told", &(struct atlock_why){ .code = ATLOCK_INVALID_REQUEST });
	atlock_refused(s->al, &bob, NULL, "config/max_ttl", &(struct atlock_why){ .code = ATLOCK_PERMISSION_DENIED });
	atlock_refused(s->al, &bob, NULL, path, &(struct atlock_why){ .code = ATLOCK_PERMISSION_DENIED });
	assert_int_equal(atlock_run_refused(s->al), 3);
	assert_int_equal(atlock_events(s->al, s->seen + 1, line_seen, line), 0);
	assert_non_null(strstr(line, "\"subject\":\"000"));
	(void)snprintf(line, sizeof(line),
		       "refused(INVALID_REQUEST) global/a bob@ by bob: , 0 skipped\n"
		       "refused(PERMISSION_DENIED) config/max_ttl bob@ by bob: , 0 skipped\n"
		       "refused(PERMISSION_DENIED) %0255d bob@ by bob: , 0 skipped\n",
		       7);
	log_is(s, line);
}

/* The manager's own thread writes them, and what is left at the end. */
static void refusals_are_written_by_themselves(void **state)
{
	struct stage *s = *state;

	held_by_alice(s);
	refused_to(s, "bob@2", 1);
	stage_reopen(s);
	assert_string_equal(stage_events(s), "refused closed opened");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(refusals_are_written_later_and_together),
		STAGED(more_than_so_many_a_second_are_only_counted),
		STAGED(flood_of_one_user_hides_nothing_of_another),
		STAGED(users_that_are_quiet_give_way_to_others),
		STAGED(refusals_that_could_not_be_written_are_counted),
		STAGED(what_is_no_refusal_is_not_written),
		STAGED(refusals_decided_elsewhere_are_written_once),
		STAGED(refusals_decided_elsewhere_say_about_what),
		STAGED_LIVE(refusals_are_written_by_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
