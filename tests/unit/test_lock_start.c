/*
 * Taking and giving back without waiting for the store: the same outcomes as the calls that wait, told once.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct ending {
	int times;
	int rc;
};

static void ended(void *arg, int rc)
{
	struct ending *ending = arg;

	ending->times++;
	ending->rc = rc;
}

static int start_acquire(struct stage *s, const struct atlock_request *req)
{
	struct ending ending = { .times = 0 };

	atlock_acquire_start(s->al, req, &s->grant, &s->why, ended, &ending);
	assert_int_equal(ending.times, 1);
	return ending.rc;
}

static int start_release(struct stage *s, const struct atlock_request *req)
{
	struct ending ending = { .times = 0 };

	atlock_release_start(s->al, req, &s->why, ended, &ending);
	assert_int_equal(ending.times, 1);
	return ending.rc;
}

static void outcomes_are_those_of_the_calls_that_wait(void **state)
{
	struct stage *s = *state;

	assert_int_equal(start_acquire(s, stage_ask(s, "global/a", "alice@1")), 0);
	assert_true(s->grant.token > 0);
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	assert_int_equal(start_acquire(s, stage_ask(s, "global/a", "alice@1")), 1);
	assert_int_equal(start_acquire(s, stage_ask(s, "global/a", "bob@1")), -EACCES);
	assert_int_equal(s->why.code, ATLOCK_LOCK_EXISTS);
	assert_int_equal(start_release(s, stage_ask(s, "global/a", "bob@1")), -EACCES);
	assert_int_equal(start_release(s, stage_ask(s, "global/a", "alice@1")), 0);
	assert_string_equal(stage_holder(s, "global/a"), "free");
	assert_int_equal(start_release(s, stage_ask(s, "global/a", "alice@1")), 1);
}

static void what_is_refused_before_the_store_is_told_too(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, "global/a", "alice@1");

	req->text = "ttl=never mind\n";
	req->text_len = strlen(req->text);
	assert_int_equal(start_acquire(s, req), -EINVAL);
	assert_int_equal(s->why.code, ATLOCK_INVALID_REQUEST);
	req = stage_ask(s, "global/a", "alice@1");
	req->caller = NULL;
	assert_int_equal(start_release(s, req), -EINVAL);
}

/* What on_change would be told of the lock itself is counted instead; of others it is told. */
static void count_change(void *arg, enum atlock_change what, const struct atlock_name *name)
{
	(void)what, (void)name;
	++*(unsigned int *)arg;
}

static void own_changes_are_counted_and_not_announced(void **state)
{
	struct stage *s = *state;
	unsigned int announced = 0;
	unsigned int own = 0;
	struct atlock_request *req;

	stage_close(s);
	s->on_change = count_change;
	s->change_arg = &announced;
	stage_open(s);
	announced = 0;
	req = stage_ask(s, "global/a", "alice@1");
	req->own = &own;
	assert_int_equal(start_acquire(s, req), 0);
	assert_int_equal(own, 1);
	assert_int_equal(announced, 0);
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 0);
	assert_int_equal(own, 2);
	assert_int_equal(announced, 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 0), 0);
	assert_int_equal(own, 2);
	assert_int_equal(announced, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(outcomes_are_those_of_the_calls_that_wait),
		STAGED(what_is_refused_before_the_store_is_told_too),
		STAGED(own_changes_are_counted_and_not_announced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
