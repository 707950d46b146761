/* The option disable_apply: the manager itself holds global/apply, and nobody else can do anything about it. */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char apply[] = "global/apply";

static void the_option_holds_the_lock_for_good(void **state)
{
	struct stage *s = *state;
	struct atlock_view view;

	stage_configure(s, "disable_apply", "on");
	assert_string_equal(stage_holder(s, apply), "root@disable_apply");
	assert_string_equal(stage_events(s), "configured acquired");
	view = stage_view(s, apply);
	assert_int_equal(view.uid, 0);
	assert_int_equal(view.ttl, ATLOCK_NEVER);
	assert_int_equal(view.state, ATLOCK_ACQUIRED);
	assert_non_null(strstr(view.meta, "reason="));
	atlock_view_clear(&view);
	stage_advance(s, 1000000);
	stage_configure(s, "max_queue", "7");
	assert_string_equal(stage_events(s), "configured");
	assert_string_equal(stage_holder(s, apply), "root@disable_apply");
	stage_configure(s, "disable_apply", "off");
	assert_string_equal(stage_holder(s, apply), "free");
	assert_string_equal(stage_events(s), "configured released");
}

static void nobody_can_release_or_change_it(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_request *req;

	stage_configure(s, "disable_apply", "on");
	req = stage_ask(s, apply, "root@1");
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -EPERM);
	assert_non_null(strstr(s->why.text, "while the option disable_apply is set"));
	assert_int_equal(atlock_transfer(s->al, req, &bob, &s->why), -EPERM);
	assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), -EPERM);
	assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), -EPERM);
	assert_int_equal(stage_acquire(s, apply, "alice@1", 60), -EACCES);
	assert_non_null(strstr(s->why.text, "held by root@disable_apply since "));
	assert_non_null(strstr(s->why.text, "without a lease, 0 waiting, reason \"applies are disabled by the option"));
	/* Not even who calls himself so. */
	assert_int_equal(stage_release(s, apply, "root@disable_apply"), -EPERM);
	assert_string_equal(stage_holder(s, apply), "root@disable_apply");
}

static void whoever_had_it_loses_it_and_waiters_go_on(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, apply, "alice@1", 600), 0);
	assert_int_equal(stage_write(s, apply, "alice@1", "reason=mine\n"), 0);
	assert_int_equal(stage_enqueue(s, apply, "bob@1", ATLOCK_NORMAL, NULL), 0);
	(void)stage_events(s);
	stage_configure(s, "disable_apply", "on");
	assert_string_equal(stage_events(s), "configured forced acquired");
	assert_string_equal(stage_holder(s, apply), "root@disable_apply");
	assert_string_equal(stage_queue(s, apply), "bob@1");
	stage_advance(s, 60);
	stage_configure(s, "disable_apply", "off");
	assert_string_equal(stage_holder(s, apply), "bob@1 pending");
}

static void it_is_taken_from_a_lock_that_rests(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "lock_delay", "60s");
	assert_int_equal(stage_acquire(s, apply, "alice@1", 10), 0);
	stage_advance(s, 11);
	assert_int_equal(atlock_run_due(s->al), 1);
	(void)stage_events(s);
	stage_configure(s, "disable_apply", "on");
	assert_string_equal(stage_events(s), "configured acquired");
	assert_string_equal(stage_holder(s, apply), "root@disable_apply");
	stage_advance(s, 600);
	(void)atlock_run_due(s->al);
	assert_string_equal(stage_holder(s, apply), "root@disable_apply");
}

static void opening_with_or_without_it_counts(void **state)
{
	struct stage *s = *state;
	struct atlock_view first;
	struct atlock_view second;

	s->options.disable_apply = 1;
	stage_reopen(s);
	assert_string_equal(stage_holder(s, apply), "root@disable_apply");
	first = stage_view(s, apply);
	stage_reopen(s);
	second = stage_view(s, apply);
	assert_int_equal(first.token, second.token);
	atlock_view_clear(&first);
	atlock_view_clear(&second);
	s->options.disable_apply = 0;
	stage_reopen(s);
	assert_string_equal(stage_holder(s, apply), "free");
	assert_int_equal(stage_acquire(s, apply, "alice@1", 60), 0);
}

/* Opening without the option settles nothing and minds no damage: both are for whoever asks about the lock. */
static void opening_without_it_leaves_the_lock_alone(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, apply, "alice@1", 10), 0);
	assert_int_equal(stage_enqueue(s, apply, "bob@1", ATLOCK_NORMAL, NULL), 0);
	stage_advance(s, 11);
	(void)stage_events(s);
	stage_reopen(s);
	assert_string_equal(stage_events(s), "closed opened");
	stage_put(s, (struct slice){ "lgapply", 7 }, (struct slice){ "x", 1 });
	s->damaged = true;
	stage_reopen(s);
	assert_int_equal(stage_acquire(s, apply, "alice@1", 10), -EIO);
}

static void a_refusal_says_the_reason(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/plan", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/plan", "bob@1", 60), -EACCES);
	assert_non_null(strstr(s->why.text, "0 waiting: "));
	assert_int_equal(stage_write(s, "global/plan", "alice@1", "reason=upgrade of the \"state\"\n"), 0);
	assert_int_equal(stage_acquire(s, "global/plan", "bob@1", 60), -EACCES);
	assert_non_null(strstr(s->why.text, "is held by alice@1 since "));
	assert_non_null(strstr(s->why.text, "0 waiting, reason \"upgrade of the \"state\"\": "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(the_option_holds_the_lock_for_good),
		STAGED(nobody_can_release_or_change_it),
		STAGED(whoever_had_it_loses_it_and_waiters_go_on),
		STAGED(it_is_taken_from_a_lock_that_rests),
		STAGED(opening_with_or_without_it_counts),
		STAGED(opening_without_it_leaves_the_lock_alone),
		STAGED(a_refusal_says_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
