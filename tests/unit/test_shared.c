/*
 * Shared resources and their apps: who may say what, how long it counts (status_ttl, to the nanosecond), and the verdict.
 */
#include "shared_fixture.h"

#include <bsd/string.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void new_app_is_unknown_and_its_maker_s(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@x");
	struct atlock_app app;

	shared_setup(s);
	assert_string_equal(shared_reads(s, "a"), "UNKNOWN");
	assert_int_equal(atlock_app_get(s->al, "db", "b", &app), 0);
	assert_int_equal(app.uid, bob.uid);
	assert_string_equal(app.owner, "bob");
	assert_string_equal(app.name, "b");
	assert_int_equal(atlock_app_add(s->al, "db", "b", &bob, false, &s->why), 1);
	assert_int_equal(atlock_app_add(s->al, "db", "b", &bob, true, &s->why), -EEXIST);
	assert_int_equal(atlock_app_add(s->al, "db", "a", &bob, false, &s->why), -EACCES);
	assert_int_equal(atlock_app_add(s->al, "none", "a", &bob, false, &s->why), -ENOENT);
	assert_string_equal(stage_events(s), "shared_made app_added app_added");
}

static void only_three_words_are_a_status(void **state)
{
	static const char *const bad[] = {
		"", "\n", "up", "Up", "UPP", "U", "UP DOWN", "UP\nDOWN\n", "UNKNOWN?", "\x01"
	};
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "a", "alice@1", "UP\n"), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(shared_say(s, "a", "alice@1", bad[i]), -EINVAL);
		assert_int_equal(s->why.code, ATLOCK_INVALID_REQUEST);
	}
	assert_string_equal(shared_reads(s, "a"), "UP");
	assert_int_equal(shared_say(s, "a", "alice@2", "DOWN"), 0);
	assert_string_equal(shared_reads(s, "a"), "DOWN");
	assert_int_equal(shared_say(s, "a", "alice@2", " UNKNOWN \n"), 0);
	assert_string_equal(shared_reads(s, "a"), "UNKNOWN");
	assert_string_equal(stage_events(s), "shared_made app_added app_added app_up app_down app_unknown");
}

static void status_counts_for_its_ttl_to_the_nanosecond(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	stage_advance(s, 60);
	assert_string_equal(shared_reads(s, "b"), "DOWN");
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	assert_int_equal(stage_release(s, "shared/db/stop@a", "alice@a"), 0);
	stage_advance_ns(s, 1);
	assert_string_equal(shared_reads(s, "b"), "UNKNOWN");
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EBUSY);
	assert_int_equal(s->why.code, ATLOCK_IN_USE);
	assert_non_null(strstr(s->why.text, "b is UNKNOWN (said DOWN 60s ago)"));
	stage_configure(s, "status_ttl", "2m");
	assert_string_equal(shared_reads(s, "b"), "DOWN");
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
}

static void stepped_wall_clock_makes_no_status_older_or_newer(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	stage_set_wall(s, s->time.wall / ATLOCK_SECOND + 86400);
	assert_string_equal(shared_reads(s, "b"), "DOWN");
	stage_set_wall(s, s->time.wall / ATLOCK_SECOND - 2 * 86400);
	stage_advance_ns(s, 60 * ATLOCK_SECOND + 1);
	assert_string_equal(shared_reads(s, "b"), "UNKNOWN");
}

static void status_ages_while_nobody_looks(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	stage_close(s);
	stage_advance(s, 59);
	stage_open(s);
	assert_string_equal(shared_reads(s, "b"), "DOWN");
	stage_close(s);
	stage_advance(s, 2);
	stage_open(s);
	assert_string_equal(shared_reads(s, "b"), "UNKNOWN");
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EBUSY);
}

/* It says again what the file reads, so that what is stale cannot become DOWN by itself. */
static void touching_refreshes_what_is_fresh(void **state)
{
	struct stage *s = *state;
	struct atlock_app app;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	stage_advance(s, 50);
	assert_int_equal(shared_say(s, "b", "bob@1", NULL), 0);
	stage_advance(s, 50);
	assert_string_equal(shared_reads(s, "b"), "DOWN");
	stage_advance(s, 50);
	assert_int_equal(shared_say(s, "b", "bob@1", NULL), 0);
	assert_int_equal(atlock_app_get(s->al, "db", "b", &app), 0);
	assert_int_equal(app.said, ATLOCK_APP_UNKNOWN);
	assert_int_equal(app.age, 0);
}

static void verdict_names_everybody(void **state)
{
	struct stage *s = *state;
	char *text;
	size_t len;

	assert_int_equal(atlock_verdict(s->al, "db", NULL, &text, &len), -ENOENT);
	shared_setup(s);
	assert_int_equal(atlock_verdict(s->al, "db", "c", &text, &len), -ENOENT);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	stage_advance(s, 7);
	assert_int_equal(shared_say(s, "a", "alice@1", "UP"), 0);
	shared_verdict_is(s, NULL, "keep\nblocks UP 0s a\ndown DOWN 7s b\n");
	shared_verdict_is(s, "a", "stop\nself UP 0s a\ndown DOWN 7s b\n");
	shared_verdict_is(s, "b", "keep\nblocks UP 0s a\nself DOWN 7s b\n");
	stage_advance(s, 55);
	shared_verdict_is(s, "a", "keep\nself UP 55s a\nblocks UNKNOWN 62s b\n");
}

static void verdict_is_about_the_holder(void **state)
{
	struct stage *s = *state;
	char *text;
	size_t len;

	shared_setup(s);
	assert_int_equal(shared_say(s, "a", "alice@1", "DOWN"), 0);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	shared_verdict_is(s, NULL, "stop\ndown DOWN 0s a\ndown DOWN 0s b\n");
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	assert_int_equal(shared_say(s, "a", "alice@1", "UP"), 0);
	assert_int_equal(atlock_verdict(s->al, "db", NULL, &text, &len), 0);
	assert_int_equal(strncmp(text, "stop\nself UP 0s a\ndown DOWN 0s b\nheld until ", 44), 0);
	assert_non_null(strstr(text, " by alice@a\n"));
	free(text);
	assert_int_equal(atlock_verdict(s->al, "db", "b", &text, &len), 0);
	assert_int_equal(strncmp(text, "keep\n", 5), 0);
	free(text);
	assert_int_equal(shared_say(s, "b", "bob@1", "UP"), 0);
	assert_int_equal(atlock_verdict(s->al, "db", NULL, &text, &len), 0);
	assert_int_equal(strncmp(text, "keep\nself UP 0s a\nblocks UP 0s b\n", 33), 0);
	free(text);
}

static void resource_without_apps_is_kept(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@x");

	assert_int_equal(atlock_shared_make(s->al, "db", &alice, &s->why), 0);
	assert_int_equal(atlock_shared_make(s->al, "db", &alice, &s->why), -EEXIST);
	shared_verdict_is(s, NULL, "keep\n");
}

static void app_leaves_when_its_owner_says_so(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@x");
	struct atlock_caller bob = stage_caller("bob@x");
	struct atlock_caller root = stage_caller("root@x");
	struct atlock_app app;

	shared_setup(s);
	assert_int_equal(atlock_app_remove(s->al, "db", "b", &alice, &s->why), -EACCES);
	assert_int_equal(shared_say(s, "b", "alice@1", "DOWN"), -EACCES);
	assert_int_equal(shared_say(s, "b", "root@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	assert_int_equal(atlock_app_remove(s->al, "db", "a", &alice, &s->why), -EBUSY);
	assert_int_equal(atlock_app_remove(s->al, "db", "b", &bob, &s->why), 0);
	assert_int_equal(atlock_app_remove(s->al, "db", "b", &bob, &s->why), -ENOENT);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), -ENOENT);
	assert_int_equal(atlock_app_give(s->al, "db", "a", &alice, &bob, &s->why), -EPERM);
	assert_int_equal(atlock_app_give(s->al, "db", "a", &root, &bob, &s->why), 0);
	assert_int_equal(atlock_app_get(s->al, "db", "a", &app), 0);
	assert_string_equal(app.owner, "bob");
	/* What is not hers any more she does not keep either. */
	assert_int_equal(stage_renew(s, "shared/db/stop@a", "alice@a", 90), -EACCES);
	assert_int_equal(stage_release(s, "shared/db/stop@a", "alice@a"), 0);
	assert_int_equal(atlock_app_remove(s->al, "db", "a", &root, &s->why), 0);
}

static void resource_goes_when_nobody_is_left(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@x");
	struct atlock_caller bob = stage_caller("bob@x");
	struct atlock_shared shared;

	shared_setup(s);
	assert_int_equal(atlock_shared_remove(s->al, "db", &alice, &s->why), -ENOTEMPTY);
	assert_int_equal(atlock_app_remove(s->al, "db", "a", &alice, &s->why), 0);
	assert_int_equal(atlock_app_remove(s->al, "db", "b", &bob, &s->why), 0);
	assert_int_equal(atlock_shared_get(s->al, "db", &shared), 0);
	assert_int_equal(shared.apps, 0);
	assert_int_equal(atlock_shared_remove(s->al, "db", &bob, &s->why), -EACCES);
	assert_int_equal(atlock_shared_remove(s->al, "db", &alice, &s->why), 0);
	assert_int_equal(atlock_shared_remove(s->al, "db", &alice, &s->why), -ENOENT);
	assert_int_equal(atlock_shared_get(s->al, "db", &shared), -ENOENT);
}

/* A lock that rests after its lease keeps the resource, too. */
static void resting_lock_keeps_the_resource(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@x");

	stage_configure(s, "lock_delay", "30s");
	assert_int_equal(atlock_shared_make(s->al, "db", &alice, &s->why), 0);
	assert_int_equal(atlock_app_add(s->al, "db", "a", &alice, false, &s->why), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	stage_advance(s, 61);
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EBUSY);
	assert_non_null(strstr(s->why.text, "try again then"));
	assert_int_equal(atlock_app_remove(s->al, "db", "a", &alice, &s->why), 0);
	assert_int_equal(atlock_shared_remove(s->al, "db", &alice, &s->why), -ENOTEMPTY);
	stage_advance(s, 31);
	assert_int_equal(atlock_shared_remove(s->al, "db", &alice, &s->why), 0);
}

static void bad_names_are_refused(void **state)
{
	static const char *const bad[] = { "",    ".",    "-",     "a/b",   "a@b",     "a%40b",
					   "%2D", "a\nb", "pid:1", "sid:2", "flock:x", "pr:1" };
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@x");
	char name[ATLOCK_COMPONENT_MAX + 1];
	struct atlock_app app;

	assert_int_equal(atlock_shared_make(s->al, "db", &alice, &s->why), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(atlock_app_add(s->al, "db", bad[i], &alice, false, &s->why), -EINVAL);
		assert_int_equal(s->why.code, ATLOCK_INVALID_REQUEST);
		assert_int_equal(atlock_app_get(s->al, "db", bad[i], &app), -EINVAL);
	}
	memset(name, 'x', sizeof(name));
	name[ATLOCK_WHO_MAX + 1] = '\0';
	assert_int_equal(atlock_app_add(s->al, "db", name, &alice, false, &s->why), -ENAMETOOLONG);
	name[ATLOCK_WHO_MAX] = '\0';
	assert_int_equal(atlock_app_add(s->al, "db", name, &alice, false, &s->why), 0);
	assert_int_equal(atlock_shared_make(s->al, "a/b", &alice, &s->why), -EINVAL);
	assert_int_equal(atlock_shared_make(s->al, "..", &alice, &s->why), -EINVAL);
	assert_int_equal(atlock_shared_make(NULL, "x", &alice, &s->why), -EINVAL);
	assert_int_equal(atlock_app_add(s->al, NULL, "x", &alice, false, &s->why), -EINVAL);
	assert_int_equal(atlock_app_add(s->al, "db", NULL, &alice, false, &s->why), -EINVAL);
	assert_int_equal(atlock_app_write(s->al, "db", "x", NULL, "UP", 2, &s->why), -EINVAL);
	assert_int_equal(atlock_app_give(s->al, "db", "x", &alice, NULL, &s->why), -EINVAL);
}

#define LISTED 32

static int count_each(void *arg, const struct atlock_shared *shared)
{
	(void)strlcat(arg, shared->name, LISTED);
	return 0;
}

static int count_apps(void *arg, const struct atlock_app *app)
{
	(void)strlcat(arg, app->name, LISTED);
	return strcmp(app->name, "b") == 0;
}

/* One name may be the beginning of another: neither sees the other's apps. */
static void resources_and_apps_are_listed_apart(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@x");
	char out[LISTED] = "";

	shared_setup(s);
	assert_int_equal(atlock_shared_make(s->al, "d", &alice, &s->why), 0);
	assert_int_equal(atlock_app_add(s->al, "d", "b", &alice, false, &s->why), 0);
	assert_int_equal(atlock_app_add(s->al, "d", "z", &alice, false, &s->why), 0);
	assert_int_equal(atlock_shared_list(s->al, NULL, count_each, out), 0);
	assert_string_equal(out, "ddb");
	out[0] = '\0';
	assert_int_equal(atlock_app_list(s->al, "db", NULL, count_apps, out), 0);
	assert_string_equal(out, "ab");
	out[0] = '\0';
	assert_int_equal(atlock_app_list(s->al, "d", NULL, count_apps, out), 0);
	assert_string_equal(out, "b");
	assert_int_equal(atlock_app_list(s->al, "none", NULL, count_apps, out), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(new_app_is_unknown_and_its_maker_s),
		STAGED(only_three_words_are_a_status),
		STAGED(status_counts_for_its_ttl_to_the_nanosecond),
		STAGED(stepped_wall_clock_makes_no_status_older_or_newer),
		STAGED(status_ages_while_nobody_looks),
		STAGED(touching_refreshes_what_is_fresh),
		STAGED(verdict_names_everybody),
		STAGED(verdict_is_about_the_holder),
		STAGED(resource_without_apps_is_kept),
		STAGED(app_leaves_when_its_owner_says_so),
		STAGED(resource_goes_when_nobody_is_left),
		STAGED(resting_lock_keeps_the_resource),
		STAGED(bad_names_are_refused),
		STAGED(resources_and_apps_are_listed_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
