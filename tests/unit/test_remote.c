/*
 * Several hosts on one realm: who sees what, conflicts, lost answers, hosts that are gone.
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

static void a_commit_of_one_host_is_seen_by_all(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	struct lock_call b = { .lock = "l1" };

	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(lock_token(f, B, "l1"), a.token);
	assert_int_equal(lock_take(f, C, &b), -EBUSY);
	assert_int_equal(lock_drop(f, A, &a), 0);
	assert_int_equal(lock_token(f, C, "l1"), 0);
	/* B's mirror still has the lock: its refusal would be out of date, and is not given. */
	assert_int_equal(lock_take(f, B, &b), 0);
	assert_true(b.token > a.token);
}

static void an_uncontended_update_is_one_request(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	assert_int_equal(lock_take(f, C, &a), 0);
	unsigned int commits = f->hosts[C].faults.commits;
	unsigned int barriers = f->hosts[C].faults.barriers;
	a.lock = "l2";
	assert_int_equal(lock_take(f, C, &a), 0);
	assert_int_equal(f->hosts[C].faults.commits - commits, 1);
	assert_int_equal(f->hosts[C].faults.barriers - barriers, 0);
	/* And a refusal is one barrier. */
	assert_int_equal(lock_take(f, C, &a), -EBUSY);
	assert_int_equal(f->hosts[C].faults.commits - commits, 1);
	assert_int_equal(f->hosts[C].faults.barriers - barriers, 1);
}

static void the_feed_tells_of_other_hosts_changes(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	assert_int_equal(remote_follow(f->hosts[A].engine, 0), 0);
	assert_int_equal(remote_follow(f->hosts[B].engine, 0), 0);
	f->hosts[A].changes = f->hosts[B].changes = 0;
	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(remote_follow(f->hosts[A].engine, 0), 0);
	assert_int_equal(remote_follow(f->hosts[B].engine, 0), 0);
	assert_int_equal(f->hosts[A].changes, 0);
	/* The lock and its counter. */
	assert_int_equal(f->hosts[B].changes, 2);
}

/* REMOTE.md's case 1. */
static void a_lost_answer_is_one_grant(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	f->hosts[A].faults.lose_reply_in = 1;
	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(a.runs, 1);
	assert_int_equal(lock_token(f, B, "l1"), a.token);
}

static void a_lost_request_is_one_grant(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	f->hosts[A].faults.lose_request_in = 1;
	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(a.runs, 2);
	assert_int_equal(lock_token(f, B, "l1"), a.token);
}

/* Case 2. */
static void a_request_that_arrives_late_does_nothing(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	f->hosts[A].faults.delay_in = 1;
	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(a.runs, 2);
	assert_int_equal(mem_realm_deliver(f->realm), 0);
	assert_int_equal(lock_token(f, B, "l1"), a.token);

	f->hosts[A].faults.duplicate_in = 1;
	a.lock = "l2";
	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(a.runs, 1);
	assert_int_equal(lock_drop(f, A, &a), 0);
	assert_int_equal(mem_realm_deliver(f->realm), 0);
	assert_int_equal(lock_token(f, B, "l2"), 0);
}

/* Cuts the host off before its second commit from now. */
struct cutting {
	struct realm_host *host;
	int commits;
};

static void cut_second(void *arg)
{
	struct cutting *cutting = arg;

	cutting->host->faults.cut = ++cutting->commits >= 2;
}

static void a_doubt_is_settled_before_the_next_update(void **state)
{
	struct realm_fixture *f = *state;
	struct realm_host *host = &f->hosts[A];
	struct cutting cutting = { .host = host };
	struct lock_call a = { .lock = "l1" };

	host->faults.delay_in = 1;
	host->faults.before_commit = cut_second;
	host->faults.before_arg = &cutting;
	assert_int_equal(lock_take(f, A, &a), -EIO);
	assert_int_equal(lock_take(f, A, &a), -EHOSTDOWN);
	host->faults.before_commit = NULL;
	host->faults.cut = false;
	f->now += 2000000000;
	struct lock_call other = { .lock = "l2" };
	assert_int_equal(lock_take(f, A, &other), 0);
	assert_int_equal(mem_realm_deliver(f->realm), 0);
	assert_int_equal(lock_token(f, B, "l1"), 0);
}

/* A takes a lock and lets it go before B's commit. */
struct between {
	struct realm_fixture *f;
	uint64_t token;
	bool done;
};

static void take_and_drop(void *arg)
{
	struct between *between = arg;
	struct lock_call a = { .lock = "l1" };

	if (between->done)
		return;
	between->done = true;
	assert_int_equal(lock_take(between->f, A, &a), 0);
	assert_int_equal(lock_drop(between->f, A, &a), 0);
	between->token = a.token;
}

/* Case 4. */
static void a_grant_in_between_is_a_conflict(void **state)
{
	struct realm_fixture *f = *state;
	struct between between = { .f = f };
	struct lock_call b = { .lock = "l1" };

	f->hosts[B].faults.before_commit = take_and_drop;
	f->hosts[B].faults.before_arg = &between;
	assert_int_equal(lock_take(f, B, &b), 0);
	assert_int_equal(b.runs, 2);
	assert_true(b.token > between.token);
}

/* Case 3: what a store knows of it. */
static void a_frozen_host_loses_its_incarnation(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	uint64_t before = remote_incarnation(f->hosts[A].engine);
	uint64_t other = remote_incarnation(f->hosts[C].engine);

	realm_run(f, HOST_TIMEOUT / 10 * 7, 1u << B | 1u << C);
	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(remote_incarnation(f->hosts[A].engine), before);
	realm_run(f, HOST_TIMEOUT + 6000, 1u << B | 1u << C);
	a.lock = "l2";
	assert_int_equal(lock_take(f, A, &a), 0);
	/* One more by another host, and one by itself: nothing carries the one between. */
	assert_int_equal(remote_incarnation(f->hosts[A].engine), before + 2);
	assert_int_equal(remote_incarnation(f->hosts[C].engine), other);
}

static void a_host_that_was_frozen_itself_declares_no_one_gone(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	uint64_t before = remote_incarnation(f->hosts[A].engine);

	f->now += 600 * INT64_C(1000000000);
	assert_int_equal(remote_tick(f->hosts[B].engine), 0);
	assert_int_equal(lock_take(f, A, &a), 0);
	/* By itself: B has raised none. */
	assert_int_equal(remote_incarnation(f->hosts[A].engine), before + 1);
}

/* It has stopped to believe in what it holds, and told of it, before others may take it. */
static void a_host_that_is_cut_off_ends_its_life_before_others_do(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	uint64_t before = remote_incarnation(f->hosts[A].engine);

	f->hosts[A].faults.cut = true;
	realm_run(f, HOST_TIMEOUT / 2, 1u << A);
	assert_int_equal(f->hosts[A].cuts, 0);
	realm_run(f, HOST_TIMEOUT / 3, 1u << A);
	assert_int_equal(f->hosts[A].cuts, 1);
	f->hosts[A].faults.cut = false;
	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(remote_incarnation(f->hosts[A].engine), before + 1);
	/* Once more before the next life: something may have been granted meanwhile. */
	assert_int_equal(f->hosts[A].cuts, 2);
	realm_run(f, HOST_TIMEOUT, 1u << A | 1u << B);
	assert_int_equal(remote_incarnation(f->hosts[A].engine), before + 1);
	assert_int_equal(f->hosts[A].cuts, 2);
}

static void a_host_that_starts_again_keeps_its_chain(void **state)
{
	struct realm_fixture *f = *state;
	uint16_t chain = remote_chain(f->hosts[A].engine);
	uint64_t before = remote_incarnation(f->hosts[A].engine);

	realm_close(f, A);
	assert_int_equal(realm_open(f, A), 0);
	assert_int_equal(remote_chain(f->hosts[A].engine), chain);
	assert_int_equal(remote_incarnation(f->hosts[A].engine), before + 1);
	assert_int_not_equal(remote_chain(f->hosts[B].engine), chain);
}

/* B's directory says that it is A: as that of a copy of a machine does. */
static void a_copy_of_a_host_gets_a_chain_of_its_own(void **state)
{
	struct realm_fixture *f = *state;
	struct mirror_host host = { .chain = remote_chain(f->hosts[A].engine), .incarnation = 1 };
	struct lock_call a = { .lock = "l1" };
	struct lock_call b = { .lock = "l2" };

	assert_int_equal(mirror_set_host(f->hosts[B].engine->mirror, &host), 0);
	realm_close(f, B);
	assert_int_equal(realm_open(f, B), 0);
	assert_int_equal(remote_chain(f->hosts[B].engine), host.chain);
	assert_int_equal(lock_take(f, A, &a), 0);
	assert_int_equal(lock_take(f, B, &b), 0);
	assert_int_not_equal(remote_chain(f->hosts[A].engine), remote_chain(f->hosts[B].engine));
	uint64_t incarnation = remote_incarnation(f->hosts[B].engine);
	assert_int_equal(lock_drop(f, A, &a), 0);
	assert_int_equal(lock_drop(f, B, &b), 0);
	assert_int_equal(remote_incarnation(f->hosts[B].engine), incarnation);
}

static void a_full_engine_refuses_and_a_cut_one_is_down(void **state)
{
	struct realm_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	f->hosts[A].faults.full = true;
	assert_int_equal(lock_take(f, A, &a), -ENOSPC);
	f->hosts[A].faults.full = false;
	f->hosts[A].faults.cut = true;
	assert_int_equal(lock_take(f, A, &a), -EHOSTDOWN);
	f->hosts[A].faults.cut = false;
	f->now += 2000000000;
	assert_int_equal(lock_take(f, A, &a), 0);
}

static int own_key_fn(struct store_txn *txn, void *arg)
{
	(void)arg;
	return store_put(txn, (struct slice){ .data = "\0state", .len = 6 }, slice_of("x"));
}

static int large_fn(struct store_txn *txn, void *arg)
{
	char key[16];

	for (int i = 0; i < *(int *)arg; i++) {
		(void)snprintf(key, sizeof(key), "k%06d", i);
		int rc = store_put(txn, slice_of(key), slice_of("v"));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void what_a_commit_cannot_carry_is_refused(void **state)
{
	struct realm_fixture *f = *state;
	int keys = 4000;

	assert_int_equal(remote_update(f->hosts[A].engine, own_key_fn, NULL), -EINVAL);
	assert_int_equal(remote_update(f->hosts[A].engine, large_fn, &keys), 0);
	keys++;
	assert_int_equal(remote_update(f->hosts[A].engine, large_fn, &keys), -E2BIG);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, realm_setup, realm_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_commit_of_one_host_is_seen_by_all),
		CASE(an_uncontended_update_is_one_request),
		CASE(the_feed_tells_of_other_hosts_changes),
		CASE(a_lost_answer_is_one_grant),
		CASE(a_lost_request_is_one_grant),
		CASE(a_request_that_arrives_late_does_nothing),
		CASE(a_doubt_is_settled_before_the_next_update),
		CASE(a_grant_in_between_is_a_conflict),
		CASE(a_frozen_host_loses_its_incarnation),
		CASE(a_host_that_was_frozen_itself_declares_no_one_gone),
		CASE(a_host_that_is_cut_off_ends_its_life_before_others_do),
		CASE(a_host_that_starts_again_keeps_its_chain),
		CASE(a_copy_of_a_host_gets_a_chain_of_its_own),
		CASE(a_full_engine_refuses_and_a_cut_one_is_down),
		CASE(what_a_commit_cannot_carry_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
