/*
 * An engine that loses what it had answered: restarts, failovers, restores, FLUSHALL, a history that was trimmed.
 */
#include "realm_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { A, B, C };
#define ALL (1u << A | 1u << B | 1u << C)

/* Takes and drops "l1" so many times, and leaves it held; the last token. */
static uint64_t churn(struct realm_fixture *f, int host, int times)
{
	struct lock_call call = { .lock = "l1" };

	for (int i = 0; i < times; i++) {
		assert_int_equal(lock_take(f, host, &call), 0);
		if (i < times - 1)
			assert_int_equal(lock_drop(f, host, &call), 0);
	}
	return call.token;
}

static void a_restart_that_loses_nothing_is_quick(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call b = { .lock = "l2" };
	uint64_t token = churn(f, A, 3);
	uint64_t incarnation = remote_incarnation(f->hosts[B].engine);

	mem_realm_restart(f->realm, 0);
	/* Nobody grants before all hosts have reported. */
	assert_int_equal(lock_take(f, B, &b), -EHOSTDOWN);
	int64_t before = f->now;
	realm_run(f, 1000, ALL);
	realm_run(f, 1000, ALL);
	assert_int_equal(lock_take(f, B, &b), 0);
	assert_true(f->now - before < HOST_TIMEOUT * INT64_C(1000000) / 2);
	assert_int_equal(lock_token(f, C, "l1"), token);
	assert_int_equal(remote_incarnation(f->hosts[B].engine), incarnation);
}

/* Case 5, with the host that is ahead alive: what was lost is given back. */
static void what_a_failover_lost_is_given_back(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call gone = { .lock = "l3" };
	struct lock_call call = { .lock = "l1" };

	assert_int_equal(lock_take(f, A, &gone), 0);
	assert_int_equal(lock_token(f, B, "l3"), gone.token);
	uint64_t token = churn(f, A, 50);
	assert_int_equal(lock_drop(f, A, &gone), 0);
	/* B has seen nothing of it, and C nothing after the first few. */
	mem_realm_restart(f->realm, 100);
	realm_run(f, 3000, ALL);
	assert_int_equal(lock_token(f, B, "l1"), token);
	assert_int_equal(lock_token(f, C, "l3"), 0);
	assert_int_equal(lock_take(f, B, &call), -EBUSY);
	call.token = token;
	assert_int_equal(lock_drop(f, B, &call), 0);
	assert_int_equal(lock_take(f, C, &call), 0);
	assert_true(call.token > token);
}

/* Case 5, with the host that is ahead cut off: what is lost is lost, and no token comes again. */
static void no_token_comes_again_after_a_failover(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call b = { .lock = "l1" };
	uint64_t token = churn(f, A, 50);

	f->hosts[A].faults.cut = true;
	mem_realm_restart(f->realm, 99);
	/* A may believe in its locks as long as its host_timeout: until then nothing is granted. */
	realm_run(f, HOST_TIMEOUT - 3000, 1u << B | 1u << C);
	assert_int_equal(lock_take(f, B, &b), -EHOSTDOWN);
	realm_run(f, 6000, 1u << B | 1u << C);
	assert_int_equal(lock_take(f, B, &b), 0);
	assert_true(b.token > token);
	/* A comes back, and has what the others have. */
	f->hosts[A].faults.cut = false;
	f->now += 2000000000;
	struct lock_call a = { .lock = "l1" };
	assert_int_equal(lock_take(f, A, &a), -EBUSY);
	assert_int_equal(lock_token(f, A, "l1"), b.token);
}

/* The same process has an older state: a restore beneath a running server. */
static void a_rollback_beneath_a_running_server_is_noticed(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call call = { .lock = "l1" };
	uint64_t token = churn(f, A, 10);
	struct remote_at before = mem_realm_at(f->realm);

	mem_realm_rollback(f->realm, 8);
	realm_run(f, 4000, ALL);
	assert_true(mem_realm_at(f->realm).epoch > before.epoch);
	assert_int_equal(lock_token(f, B, "l1"), token);
	assert_int_equal(lock_take(f, C, &call), -EBUSY);
}

/* Case 6. */
static void an_empty_engine_grants_nothing(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call call = { .lock = "l1" };

	(void)churn(f, A, 3);
	mem_realm_flush(f->realm);
	realm_run(f, 3 * HOST_TIMEOUT, ALL);
	assert_true(lock_take(f, B, &call) < 0);
	assert_int_equal(call.runs, 0);
	/* A realm that is made anew is another: hosts that held locks of the old one do not go on with it by themselves. */
	mem_realm_create(f->realm);
	f->now += 2000000000;
	assert_int_equal(lock_take(f, B, &call), -EHOSTDOWN);
	assert_int_equal(call.runs, 0);
	realm_close(f, B);
	assert_int_equal(realm_open(f, B), 0);
	assert_int_equal(lock_take(f, B, &call), 0);
}

static void without_a_realm_nothing_is_opened(void **state)
{
	struct realm_fixture *f = *state;

	realm_close(f, A);
	mem_realm_flush(f->realm);
	assert_int_equal(realm_open(f, A), -ENOENT);
	assert_non_null(strstr(f->why, "no realm"));
}

/* Case 7. */
static void a_trimmed_history_is_a_resync(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call b = { .lock = "l1" };

	f->hosts[B].faults.cut = true;
	uint64_t token = churn(f, A, 20);
	mem_realm_trim(f->realm, 3);
	f->hosts[B].faults.cut = false;
	assert_int_equal(lock_take(f, B, &b), -EBUSY);
	assert_int_equal(lock_token(f, B, "l1"), token);
	/* A key that is not there any more is not in the new mirror either. */
	struct lock_call a = { .lock = "l1", .token = token };
	assert_int_equal(lock_drop(f, A, &a), 0);
	assert_int_equal(lock_token(f, B, "l1"), 0);
}

static void a_mirror_is_continued_by_the_next_process(void **state)
{
	struct realm_fixture *f = *state;
	uint64_t token = churn(f, A, 3);

	realm_close(f, B);
	assert_int_equal(realm_open(f, B), 0);
	assert_int_equal(lock_token(f, B, "l1"), token);
	/* Without what it missed it is filled anew. */
	realm_close(f, B);
	struct lock_call a = { .lock = "l1", .token = token };
	assert_int_equal(lock_drop(f, A, &a), 0);
	token = churn(f, A, 9);
	mem_realm_trim(f->realm, 1);
	assert_int_equal(realm_open(f, B), 0);
	assert_int_equal(lock_token(f, B, "l1"), token);
}

/* The only host of a realm: it has all that the engine lost, or waits its own time-out out. */
static void a_lone_host_goes_on_after_a_restart(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call call = { .lock = "l2" };

	realm_close(f, B);
	realm_close(f, C);
	realm_run(f, 2 * HOST_TIMEOUT + 4000, 1u << A);
	uint64_t token = churn(f, A, 5);
	mem_realm_restart(f->realm, 4);
	assert_int_equal(lock_take(f, A, &call), 0);
	assert_int_equal(lock_token(f, A, "l1"), token);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, realm_setup, realm_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_restart_that_loses_nothing_is_quick), CASE(what_a_failover_lost_is_given_back),
		CASE(no_token_comes_again_after_a_failover), CASE(a_rollback_beneath_a_running_server_is_noticed),
		CASE(an_empty_engine_grants_nothing),        CASE(without_a_realm_nothing_is_opened),
		CASE(a_trimmed_history_is_a_resync),         CASE(a_mirror_is_continued_by_the_next_process),
		CASE(a_lone_host_goes_on_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
