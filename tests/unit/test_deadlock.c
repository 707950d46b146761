/*
 * Deadlocks: cycles of any length, however they come about, and who has to give way.
 */
#include "rounds.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "waitfor.h"

#define CYCLE_MAX 50
#define TEXT_MAX 48

static const char *lock_of(size_t i, char out[TEXT_MAX])
{
	(void)snprintf(out, TEXT_MAX, "global/lock-%zu", i);
	return out;
}

static const char *holder_of(size_t i, char out[TEXT_MAX])
{
	(void)snprintf(out, TEXT_MAX, "%s@%zu", i % 2 == 0 ? "alice" : "bob", i);
	return out;
}

/* Holder i takes lock i. */
static void cycle_hold(struct stage *s, size_t n)
{
	char lock[TEXT_MAX];
	char holder[TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		assert_int_equal(stage_acquire(s, lock_of(i, lock), holder_of(i, holder), 0), 0);
}

/* Holder i waits for the lock of holder i + 1; the last one closes the circle of n. */
static int cycle_wait(struct stage *s, size_t n, size_t i, enum atlock_priority priority, struct told *told)
{
	char lock[TEXT_MAX];
	char holder[TEXT_MAX];

	return stage_wait(s, lock_of((i + 1) % n, lock), holder_of(i, holder), priority, told, NULL);
}

/* Makes a cycle whose priorities are given (NULL: all normal); what the closing call returned. */
static int cycle_make(struct stage *s, size_t n, const enum atlock_priority *priorities, struct told **told)
{
	int rc = 0;

	cycle_hold(s, n);
	for (size_t i = 0; i < n; i++) {
		told[i] = stage_told(s);
		rc = cycle_wait(s, n, i, priorities != NULL ? priorities[i] : ATLOCK_NORMAL, told[i]);
		if (i + 1 < n)
			assert_int_equal(rc, 1);
	}
	return rc;
}

/* Exactly one of those that wait was told, `victim`; nobody else. */
static void victim_is(struct told **told, size_t n, size_t victim)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(told[i]->times, i == victim ? 1 : 0);
		if (i == victim) {
			assert_int_equal(told[i]->err, -EDEADLK);
			assert_int_equal(told[i]->code, ATLOCK_DEADLOCK);
		}
	}
}

static void closing_a_cycle_of_any_length_is_refused(void **state)
{
	static const size_t lengths[] = { 2, 3, CYCLE_MAX };
	struct told *told[CYCLE_MAX];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct stage *s;

		(void)stage_setup((void **)&s);
		assert_int_equal(cycle_make(s, lengths[i], NULL, told), -EDEADLK);
		assert_int_equal(s->why.code, ATLOCK_DEADLOCK);
		victim_is(told, lengths[i], SIZE_MAX);
		(void)stage_teardown((void **)&s);
	}
}

enum {
	LONG = WAITFOR_EDGES + 2
}; /* one more than the longest that a call finds: its own wait is no edge of the search */

/* A call searches so far and no further, since others wait for it; the periodic pass goes the whole way. */
static void a_circle_too_long_for_a_call_is_found_by_the_periodic_pass(void **state)
{
	struct told **told = calloc(LONG, sizeof(struct told *));
	struct stage *s = *state;
	uint64_t before;

	assert_non_null(told);
	assert_int_equal(cycle_make(s, LONG, NULL, told), 1);
	victim_is(told, LONG, SIZE_MAX);
	before = stage_commits(s);
	assert_int_equal(atlock_run_deadlock(s->al), 1);
	victim_is(told, LONG, LONG - 1);
	assert_int_equal(stage_commits(s), before + 1);
	/* A pass that finds nothing makes no change, so that it delays none. */
	assert_int_equal(atlock_run_deadlock(s->al), 0);
	assert_int_equal(stage_commits(s), before + 1);
	free(told);
}

static void the_longest_circle_that_a_call_finds(void **state)
{
	struct told **told = calloc(LONG, sizeof(struct told *));

	assert_non_null(told);
	assert_int_equal(cycle_make(*state, LONG - 1, NULL, told), -EDEADLK);
	free(told);
}

/* Once the victim lets go of what it has, the others proceed one after the other. */
static void others_of_the_cycle_proceed(void **state)
{
	struct stage *s = *state;
	struct told *told[3];

	assert_int_equal(cycle_make(s, 3, NULL, told), -EDEADLK);
	assert_int_equal(stage_release(s, "global/lock-2", "alice@2"), 0);
	assert_int_equal(told[1]->err, 0);
	assert_int_equal(told[1]->times, 1);
	assert_int_equal(stage_release(s, "global/lock-1", "bob@1"), 0);
	assert_int_equal(told[0]->times, 1);
	assert_string_equal(stage_holder(s, "global/lock-1"), "alice@0");
}

static void refused_wait_leaves_an_event_and_no_ticket(void **state)
{
	struct stage *s = *state;
	struct told *told[2];

	assert_int_equal(cycle_make(s, 2, NULL, told), -EDEADLK);
	assert_string_equal(stage_queue(s, "global/lock-0"), "");
	assert_string_equal(stage_queue(s, "global/lock-1"), "alice@0");
	assert_string_equal(stage_events(s), "acquired acquired queued queued deadlock");
}

static void ticket_that_closes_a_cycle_is_refused(void **state)
{
	struct stage *s = *state;

	cycle_hold(s, 2);
	assert_int_equal(stage_enqueue(s, "global/lock-1", "alice@0", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "global/lock-0", "bob@1", ATLOCK_NORMAL, NULL), -EDEADLK);
	assert_string_equal(stage_queue(s, "global/lock-0"), "");
}

static void fifo_ends_the_oldest_wait(void **state)
{
	struct stage *s = *state;
	struct told *told[3];

	stage_configure(s, "deadlock_policy", "fifo");
	assert_int_equal(cycle_make(s, 3, NULL, told), 1);
	victim_is(told, 3, 0);
}

static void lowest_priority_ends_the_least_important_wait(void **state)
{
	static const enum atlock_priority priorities[] = { ATLOCK_NORMAL, ATLOCK_LOW, ATLOCK_HIGH, ATLOCK_NORMAL };
	struct stage *s = *state;
	struct told *told[4];

	stage_configure(s, "deadlock_policy", "lowest_priority");
	assert_int_equal(cycle_make(s, 4, priorities, told), 1);
	victim_is(told, 4, 1);
}

static void among_equals_lowest_priority_ends_the_newest(void **state)
{
	static const enum atlock_priority priorities[] = { ATLOCK_LOW, ATLOCK_HIGH, ATLOCK_LOW, ATLOCK_NORMAL };
	struct stage *s = *state;
	struct told *told[4];

	stage_configure(s, "deadlock_policy", "lowest_priority");
	assert_int_equal(cycle_make(s, 4, priorities, told), 1);
	victim_is(told, 4, 2);
}

/* Any of them, but one; and not always the same. */
static void random_ends_one_of_them(void **state)
{
	struct stage *s = *state;
	struct told *told[4];
	unsigned int victims[4] = { 0 };

	stage_configure(s, "deadlock_policy", "random");
	for (size_t round = 0; round < 40; round++) {
		size_t count = 0;
		size_t victim = 0;
		int rc = cycle_make(s, 4, NULL, told);

		assert_true(rc == 1 || rc == -EDEADLK);
		if (rc < 0) {
			victim = 3;
			count++;
		}
		for (size_t i = 0; i < 4; i++) {
			if (told[i]->times == 0)
				continue;
			assert_int_equal(told[i]->times, 1);
			assert_int_equal(told[i]->err, -EDEADLK);
			victim = i;
			count++;
		}
		assert_int_equal(count, 1);
		victims[victim]++;
		for (size_t i = 0; i < 4; i++) {
			struct atlock_caller holder;
			char text[TEXT_MAX];

			holder = stage_caller(holder_of(i, text));
			assert_int_equal(atlock_release_holder(s->al, &holder, NULL, &s->why), 0);
		}
	}
	for (size_t i = 0; i < 4; i++)
		assert_true(victims[i] > 0);
}

static void off_looks_for_none_until_switched_on(void **state)
{
	struct stage *s = *state;
	struct told *told[3];

	stage_configure(s, "deadlock_policy", "off");
	assert_int_equal(cycle_make(s, 3, NULL, told), 1);
	assert_int_equal(atlock_run_deadlock(s->al), 0);
	victim_is(told, 3, SIZE_MAX);
	stage_configure(s, "deadlock_policy", "lifo");
	assert_int_equal(atlock_run_deadlock(s->al), 1);
	victim_is(told, 3, 2);
	assert_int_equal(atlock_run_deadlock(s->al), 0);
	victim_is(told, 3, 2);
}

/* Ten cycles, and a crowd that waits for one of them without being part of it. */
static void periodic_pass_resolves_every_cycle(void **state)
{
	struct stage *s = *state;
	struct told *told[20];
	char lock[TEXT_MAX];
	char holder[TEXT_MAX];

	stage_configure(s, "deadlock_policy", "off");
	cycle_hold(s, 20);
	for (size_t i = 0; i < 20; i++) {
		told[i] = stage_told(s);
		assert_int_equal(
			stage_wait(s, lock_of(i ^ 1, lock), holder_of(i, holder), ATLOCK_NORMAL, told[i], NULL), 1);
	}
	for (size_t i = 20; i < 40; i++)
		assert_int_equal(stage_enqueue(s, "global/lock-0", holder_of(i, holder), ATLOCK_NORMAL, NULL), 0);
	stage_configure(s, "deadlock_policy", "fifo");
	assert_int_equal(atlock_run_deadlock(s->al), 10);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(told[i]->times, i % 2 == 0 ? 1 : 0);
	assert_int_equal(atlock_run_deadlock(s->al), 0);
}

/* Bob and alice both wait for carol. When bob is served first, alice waits for him, and he already waits for her. */
static void cycle_made_by_a_hand_over_is_resolved(void **state)
{
	struct stage *s = *state;
	struct told *bob_first = stage_told(s);
	struct told *bob_second = stage_told(s);
	struct told *alice = stage_told(s);

	assert_int_equal(stage_acquire(s, "global/a", "carol@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 0), 0);
	assert_int_equal(stage_wait(s, "global/a", "bob@1", ATLOCK_NORMAL, bob_first, NULL), 1);
	assert_int_equal(stage_wait(s, "global/a", "alice@1", ATLOCK_NORMAL, alice, NULL), 1);
	assert_int_equal(stage_wait(s, "global/b", "bob@1", ATLOCK_NORMAL, bob_second, NULL), 1);
	assert_int_equal(stage_release(s, "global/a", "carol@1"), 0);
	assert_int_equal(bob_first->err, 0);
	assert_int_equal(bob_first->times, 1);
	assert_int_equal(bob_second->err, -EDEADLK);
	assert_int_equal(bob_second->times, 1);
	assert_int_equal(alice->times, 0);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1");
}

static void cycle_made_by_an_expiry_is_resolved(void **state)
{
	struct stage *s = *state;
	struct told *bob_first = stage_told(s);
	struct told *bob_second = stage_told(s);
	struct told *alice = stage_told(s);

	assert_int_equal(stage_acquire(s, "global/a", "carol@1", 10), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 0), 0);
	assert_int_equal(stage_wait(s, "global/a", "bob@1", ATLOCK_NORMAL, bob_first, NULL), 1);
	assert_int_equal(stage_wait(s, "global/b", "bob@1", ATLOCK_NORMAL, bob_second, NULL), 1);
	assert_int_equal(stage_wait(s, "global/a", "alice@1", ATLOCK_NORMAL, alice, NULL), 1);
	stage_advance(s, 11);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(bob_first->err, 0);
	assert_int_equal(alice->err, -EDEADLK);
	assert_int_equal(alice->times, 1);
	assert_int_equal(bob_second->times, 0);
}

static void transfer_that_would_close_a_cycle_is_refused(void **state)
{
	struct stage *s = *state;
	struct told *alice = stage_told(s);
	struct told *bob = stage_told(s);

	assert_int_equal(stage_acquire(s, "global/a", "carol@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	assert_int_equal(stage_wait(s, "global/a", "bob@1", ATLOCK_NORMAL, bob, NULL), 1);
	assert_int_equal(stage_wait(s, "global/b", "alice@1", ATLOCK_NORMAL, alice, NULL), 1);
	assert_int_equal(stage_enqueue(s, "global/b", "carol@2", ATLOCK_LOW, NULL), 0);
	(void)stage_events(s);
	assert_int_equal(stage_transfer(s, "global/a", "carol@1", "alice@1"), -EDEADLK);
	assert_int_equal(s->why.code, ATLOCK_DEADLOCK);
	assert_non_null(strstr(s->why.text, "alice@1 waits for global/b"));
	assert_int_equal(stage_write(s, "global/a", "carol@1", "who=2\nreason=x\n"), -EDEADLK);
	assert_string_equal(stage_events(s), "");
	assert_string_equal(stage_holder(s, "global/a"), "carol@1");
	/* To somebody else it can go, and to her when she waits no longer; and nobody's wait has suffered. */
	assert_int_equal(stage_transfer(s, "global/a", "carol@1", "dave@1"), 0);
	assert_int_equal(alice->times + bob->times, 0);
	assert_int_equal(stage_release(s, "global/b", "bob@1"), 0);
	assert_int_equal(alice->err, 0);
	assert_int_equal(stage_transfer(s, "global/a", "dave@1", "alice@1"), 0);
	assert_int_equal(bob->times, 0);
}

/* Everything a holder has in the queue of one lock goes together, each call told once. */
static void all_waits_of_the_victim_on_the_lock_end(void **state)
{
	struct stage *s = *state;
	struct told *first = stage_told(s);
	struct told *second = stage_told(s);

	stage_configure(s, "deadlock_policy", "fifo");
	cycle_hold(s, 2);
	assert_int_equal(stage_wait(s, "global/lock-1", "alice@0", ATLOCK_NORMAL, first, NULL), 1);
	assert_int_equal(stage_wait(s, "global/lock-1", "alice@0", ATLOCK_HIGH, second, NULL), 1);
	assert_int_equal(stage_enqueue(s, "global/lock-0", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(first->times, 1);
	assert_int_equal(second->times, 1);
	assert_int_equal(first->err, -EDEADLK);
	assert_int_equal(second->err, -EDEADLK);
	assert_string_equal(stage_queue(s, "global/lock-1"), "");
	assert_string_equal(stage_queue(s, "global/lock-0"), "bob@1");
}

/* One request can close several circles: it, or one of each, goes, until none is left. */
static void request_that_closes_two_cycles_is_resolved(void **state)
{
	struct stage *s = *state;
	struct told *carol = stage_told(s);
	struct told *dora = stage_told(s);

	stage_configure(s, "deadlock_policy", "fifo");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/c", "carol@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/d", "dora@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/c", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "global/d", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_wait(s, "global/a", "carol@1", ATLOCK_NORMAL, carol, NULL), 1);
	assert_int_equal(stage_wait(s, "global/a", "dora@1", ATLOCK_NORMAL, dora, NULL), 1);
	assert_int_equal(stage_enqueue(s, "global/b", "alice@1", ATLOCK_NORMAL, NULL), 0);
	assert_string_equal(stage_queue(s, "global/c"), "");
	assert_string_equal(stage_queue(s, "global/d"), "");
	assert_string_equal(stage_queue(s, "global/b"), "alice@1");
	assert_int_equal(atlock_run_deadlock(s->al), 0);
	assert_int_equal(carol->times + dora->times, 0);
}

static void same_number_in_two_repositories_is_two_holders(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/1", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/b/-/d/-/2", "bob@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "repos/b/-/d/-/2", "alice@pr:5", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "repos/a/-/d/-/1", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(atlock_run_deadlock(s->al), 0);
}

static void pull_request_deadlocks_within_its_repository(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/1", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/2", "bob@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "repos/a/-/d/-/2", "alice@pr:5", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "repos/a/-/d/-/1", "bob@1", ATLOCK_NORMAL, NULL), -EDEADLK);
}

static void another_who_of_the_same_owner_is_another_holder(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/b", "alice@2", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, NULL), 0);
}

static void expired_holder_is_not_waited_for(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 10), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, NULL), 0);
	stage_advance(s, 11);
	assert_int_equal(stage_enqueue(s, "global/b", "alice@1", ATLOCK_NORMAL, NULL), 0);
}

/* A search that looked at every waiter for every request would take minutes here. */
static void ten_thousand_waiters_are_searched_quickly(void **state)
{
	enum { COUNT = 1100 + ROUNDS(8900) }; /* more than a call follows */
	struct stage *s = *state;
	struct told *told = stage_told(s);
	char lock[TEXT_MAX];
	char holder[TEXT_MAX];

	mem_world_faults(s->world)->rerun_percent = 0;
	stage_configure(s, "max_queue", "1000000");
	cycle_hold(s, COUNT);
	/* A crowd for one lock, and a chain through all of them. */
	for (size_t i = COUNT; i < 2 * (size_t)COUNT; i++)
		assert_int_equal(stage_enqueue(s, "global/lock-0", holder_of(i, holder), ATLOCK_NORMAL, NULL), 0);
	for (size_t i = 0; i + 1 < COUNT; i++)
		assert_int_equal(stage_enqueue(s, lock_of(i + 1, lock), holder_of(i, holder), ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(atlock_run_deadlock(s->al), 0);
	assert_int_equal(stage_wait(s, "global/lock-0", holder_of(COUNT - 1, holder), ATLOCK_NORMAL, told, NULL), 1);
	assert_int_equal(told->times, 0);
	assert_int_equal(atlock_run_deadlock(s->al), 1);
	assert_int_equal(told->err, -EDEADLK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closing_a_cycle_of_any_length_is_refused),
		STAGED(a_circle_too_long_for_a_call_is_found_by_the_periodic_pass),
		STAGED(the_longest_circle_that_a_call_finds),
		STAGED(others_of_the_cycle_proceed),
		STAGED(refused_wait_leaves_an_event_and_no_ticket),
		STAGED(ticket_that_closes_a_cycle_is_refused),
		STAGED(fifo_ends_the_oldest_wait),
		STAGED(lowest_priority_ends_the_least_important_wait),
		STAGED(among_equals_lowest_priority_ends_the_newest),
		STAGED(random_ends_one_of_them),
		STAGED(off_looks_for_none_until_switched_on),
		STAGED(periodic_pass_resolves_every_cycle),
		STAGED(cycle_made_by_a_hand_over_is_resolved),
		STAGED(cycle_made_by_an_expiry_is_resolved),
		STAGED(transfer_that_would_close_a_cycle_is_refused),
		STAGED(all_waits_of_the_victim_on_the_lock_end),
		STAGED(request_that_closes_two_cycles_is_resolved),
		STAGED(same_number_in_two_repositories_is_two_holders),
		STAGED(pull_request_deadlocks_within_its_repository),
		STAGED(another_who_of_the_same_owner_is_another_holder),
		STAGED(expired_holder_is_not_waited_for),
		STAGED(ten_thousand_waiters_are_searched_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
