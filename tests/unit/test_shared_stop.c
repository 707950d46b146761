/*
 * Who may stop a shared resource: what is not known to be down counts as up, and the condition is looked at again whenever the
 * right is to last longer or to be somebody else's.
 */
#include "shared_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record.h"

static void stop_needs_every_other_app_down(void **state)
{
	struct stage *s = *state;
	struct atlock_caller carol = stage_caller("carol@x");
	struct atlock_view view;

	shared_setup(s);
	assert_int_equal(atlock_app_add(s->al, "db", "c", &carol, false, &s->why), 0);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EBUSY);
	assert_non_null(strstr(s->why.text, "c is UNKNOWN"));
	assert_int_equal(shared_say(s, "c", "carol@1", "UP"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EBUSY);
	assert_string_equal(stage_holder(s, SHARED_STOP), "free");
	assert_int_equal(shared_stop(s, "c", "carol@c"), -EBUSY);
	assert_int_equal(shared_say(s, "c", "carol@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	view = stage_view(s, SHARED_STOP);
	assert_true(view.ttl == 60 * ATLOCK_SECOND);
	assert_true(view.token > 0);
	atlock_view_clear(&view);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 1);
	assert_int_equal(shared_stop(s, "b", "bob@b"), -EACCES);
	assert_int_equal(stage_release(s, "shared/db/stop@a", "bob@b"), -EACCES);
	assert_int_equal(stage_release(s, SHARED_STOP, "alice@b"), -EPERM);
	assert_int_equal(stage_release(s, "shared/db/stop@a", "alice@a"), 0);
}

static void lease_ends_by_itself(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(shared_say(s, "a", "alice@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	stage_advance(s, 60);
	assert_string_equal(stage_holder(s, SHARED_STOP), "alice@a");
	stage_advance_ns(s, 1);
	assert_string_equal(stage_holder(s, SHARED_STOP), "free");
	assert_int_equal(shared_say(s, "a", "alice@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "b", "bob@b"), 0);
}

static void lease_is_never_endless_nor_above_max_ttl(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req;
	struct atlock_view view;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	req = stage_ask(s, "shared/db/stop@a", "root@a");
	req->ttl = ATLOCK_NEVER;
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), -EINVAL);
	assert_int_equal(shared_stop(s, "a", "root@a"), 0);
	assert_int_equal(stage_write(s, "shared/db/stop@a", "root@a", "ttl=never\n"), -EINVAL);
	assert_int_equal(stage_release(s, "shared/db/stop@a", "root@a"), 0);
	stage_configure(s, "default_ttl", "10s");
	stage_configure(s, "max_ttl", "20s");
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	view = stage_view(s, SHARED_STOP);
	assert_true(view.ttl == 20 * ATLOCK_SECOND);
	atlock_view_clear(&view);
}

static void renewing_looks_at_the_condition_again(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	stage_advance(s, 30);
	assert_int_equal(stage_renew(s, "shared/db/stop@a", "alice@a", 0), 0);
	assert_int_equal(shared_say(s, "b", "bob@1", "UP"), 0);
	stage_advance(s, 1);
	assert_int_equal(stage_renew(s, "shared/db/stop@a", "alice@a", 0), -EBUSY);
	assert_int_equal(s->why.code, ATLOCK_IN_USE);
	assert_int_equal(stage_write(s, "shared/db/stop@a", "alice@a", "renew=10s\n"), -EBUSY);
	assert_int_equal(stage_write(s, "shared/db/stop@a", "alice@a", "ttl=5m\n"), -EBUSY);
	assert_int_equal(stage_acquire(s, "shared/db/stop@a", "alice@a", 300), -EBUSY);
	assert_string_equal(stage_holder(s, SHARED_STOP), "alice@a");
	assert_int_equal(stage_write(s, "shared/db/stop@a", "alice@a", "reason=upgrade\n"), 0);
	assert_int_equal(stage_write(s, "shared/db/stop@a", "alice@a", "ttl=5s\n"), 0);
	stage_advance(s, 6);
	assert_string_equal(stage_holder(s, SHARED_STOP), "free");
}

/* A status that nobody repeats is worth no more than 60 seconds of the right to stop, and then the lease. */
static void renewing_fails_when_a_status_went_stale(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	stage_advance(s, 30);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	stage_advance(s, 30);
	assert_int_equal(stage_renew(s, "shared/db/stop@a", "alice@a", 0), 0);
	stage_advance(s, 1);
	assert_int_equal(stage_renew(s, "shared/db/stop@a", "alice@a", 0), -EBUSY);
}

static void transfer_is_to_an_app_that_could_take_it(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@x");

	shared_setup(s);
	assert_int_equal(atlock_app_add(s->al, "db", "a2", &alice, false, &s->why), 0);
	assert_int_equal(shared_say(s, "a2", "alice@1", "DOWN"), 0);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	assert_int_equal(stage_write(s, "shared/db/stop@a", "alice@a", "who=none\n"), -EINVAL);
	assert_int_equal(stage_write(s, "shared/db/stop@a", "alice@a", "who=b\n"), -EACCES);
	assert_int_equal(stage_transfer(s, "shared/db/stop@a", "alice@a", "alice@a2"), -EBUSY);
	assert_string_equal(stage_holder(s, SHARED_STOP), "alice@a");
	assert_int_equal(shared_say(s, "a", "alice@1", "DOWN"), 0);
	assert_int_equal(stage_transfer(s, "shared/db/stop@a", "alice@a", "alice@a2"), 0);
	assert_string_equal(stage_holder(s, SHARED_STOP), "alice@a2");
}

static void stop_names_an_app_of_the_caller_s(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(stage_acquire(s, SHARED_STOP, "alice@sid:5", 0), -EINVAL);
	assert_int_equal(stage_acquire(s, SHARED_STOP, "alice@a", 0), -EINVAL);
	assert_int_equal(stage_acquire(s, "shared/db/stop@a", "alice@b", 0), -EINVAL);
	assert_int_equal(stage_acquire(s, "shared/db/stop@none", "alice@none", 0), -EINVAL);
	assert_int_equal(stage_acquire(s, "shared/none/stop@a", "alice@a", 0), -ENOENT);
	assert_int_equal(shared_stop(s, "a", "bob@a"), -EACCES);
	assert_non_null(strstr(s->why.text, "belongs to alice"));
	assert_int_equal(shared_stop(s, "a", "root@a"), 0);
}

static void nobody_waits_for_a_condition(void **state)
{
	struct stage *s = *state;
	uint64_t ticket;

	shared_setup(s);
	assert_int_equal(stage_enqueue(s, "shared/db/stop@a", "alice@a", ATLOCK_NORMAL, &ticket), -EINVAL);
	assert_int_equal(stage_wait(s, "shared/db/stop@a", "alice@a", ATLOCK_NORMAL, stage_told(s), NULL), -EINVAL);
	assert_int_equal(s->why.code, ATLOCK_INVALID_REQUEST);
	assert_string_equal(stage_holder(s, SHARED_STOP), "free");
}

static void several_locks_at_once_are_refused_with_the_guarded_one(void **state)
{
	struct stage *s = *state;
	struct atlock_request reqs[2];
	size_t failed = 9;

	shared_setup(s);
	reqs[0] = *stage_ask(s, "global/apply", "alice@a");
	reqs[1] = *stage_ask(s, "shared/db/stop@a", "alice@a");
	assert_int_equal(atlock_acquire_all(s->al, reqs, 2, NULL, &failed, &s->why), -EBUSY);
	assert_int_equal(failed, 1);
	assert_string_equal(stage_holder(s, "global/apply"), "free");
}

static int spoil_app(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_app(slice_of("db"), slice_of("b"));
	struct record_app app = { .status = 9, .owner = slice_of("bob") };
	unsigned char buf[RECORD_MAX];
	int len = record_encode(RECORD_APP, &app, buf);

	(void)arg;
	return store_put(txn, record_key_slice(&key), (struct slice){ buf, (size_t)len });
}

/* Whoever cannot be read is not taken to be down. */
static void damaged_app_lets_nobody_stop(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(atlock_check(s->al, NULL), 0);
	s->damaged = true;
	assert_int_equal(stage_tamper(s, spoil_app, NULL), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EIO);
	assert_true(atlock_check(s->al, NULL) > 0);
}

static int drop_resource(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_of(TABLE_SHARED, slice_of("db"));

	(void)arg;
	return store_del(txn, record_key_slice(&key));
}

static int drop_app(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_app(slice_of("db"), slice_of(arg));

	return store_del(txn, record_key_slice(&key));
}

static void check_finds_what_does_not_fit(void **state)
{
	static char a[] = "a";
	static char b[] = "b";
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	s->damaged = true;
	assert_int_equal(stage_tamper(s, drop_app, b), 0);
	assert_int_equal(atlock_check(s->al, NULL), 1); /* the count */
	assert_int_equal(stage_tamper(s, drop_app, a), 0);
	assert_int_equal(atlock_check(s->al, NULL), 2); /* and the holder */
	assert_int_equal(stage_tamper(s, drop_resource, NULL), 0);
	assert_int_equal(atlock_check(s->al, NULL), 1); /* the holder */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(stop_needs_every_other_app_down),
		STAGED(lease_ends_by_itself),
		STAGED(lease_is_never_endless_nor_above_max_ttl),
		STAGED(renewing_looks_at_the_condition_again),
		STAGED(renewing_fails_when_a_status_went_stale),
		STAGED(transfer_is_to_an_app_that_could_take_it),
		STAGED(stop_names_an_app_of_the_caller_s),
		STAGED(nobody_waits_for_a_condition),
		STAGED(several_locks_at_once_are_refused_with_the_guarded_one),
		STAGED(damaged_app_lets_nobody_stop),
		STAGED(check_finds_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
