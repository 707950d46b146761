/*
 * Queues: who is served when, who leaves, and how a lock passes from one to the next.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "global/a"

/* A ticket of LOCK that must be new. */
static uint64_t enqueue(struct stage *s, const char *as, enum atlock_priority priority)
{
	uint64_t ticket = 0;

	assert_int_equal(stage_enqueue(s, LOCK, as, priority, &ticket), 0);
	assert_true(ticket > 0);
	return ticket;
}

static struct atlock_ticket ticket_get(struct stage *s, uint64_t number)
{
	struct atlock_name name = stage_name(LOCK);
	struct atlock_ticket ticket;

	assert_int_equal(atlock_ticket_get(s->al, &name, number, NULL, NULL, &ticket), 0);
	return ticket;
}

static int reprioritise(struct stage *s, const char *as, uint64_t ticket, enum atlock_priority priority)
{
	struct atlock_request *req = stage_ask(s, LOCK, as);

	req->priority = priority;
	return atlock_reprioritise(s->al, req, ticket, &s->why);
}

static int cancel(struct stage *s, const char *as, uint64_t ticket)
{
	return atlock_cancel(s->al, stage_ask(s, LOCK, as), ticket, &s->why);
}

static void hold(struct stage *s)
{
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 0), 0);
}

static void free_lock_is_not_queued_for(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	assert_int_equal(stage_enqueue(s, "global/b", "bob@1", ATLOCK_NORMAL, NULL), 2);
	assert_string_equal(stage_holder(s, "global/b"), "bob@1");
	assert_int_equal(stage_wait(s, "global/c", "bob@1", ATLOCK_HIGH, told, NULL), 0);
	assert_string_equal(stage_holder(s, "global/c"), "bob@1");
	assert_int_equal(stage_enqueue(s, "global/c", "bob@1", ATLOCK_NORMAL, NULL), 2);
	assert_int_equal(stage_wait(s, "global/b", "bob@1", ATLOCK_NORMAL, told, NULL), 0);
	assert_int_equal(told->times, 0);
	assert_string_equal(stage_events(s), "acquired acquired");
}

static void higher_priority_first_then_first_come_first_served(void **state)
{
	static const struct {
		const char *as;
		enum atlock_priority priority;
	} waiters[] = {
		{ "bob@low1", ATLOCK_LOW },           { "bob@normal1", ATLOCK_NORMAL },
		{ "bob@critical1", ATLOCK_CRITICAL }, { "bob@high1", ATLOCK_HIGH },
		{ "carol@low2", ATLOCK_LOW },         { "carol@high2", ATLOCK_HIGH },
		{ "dora@normal2", ATLOCK_NORMAL },    { "dora@critical2", ATLOCK_CRITICAL },
	};
	static const char *const order[] = {
		"bob@critical1 pending", "dora@critical2 pending", "bob@high1 pending", "carol@high2 pending",
		"bob@normal1 pending",   "dora@normal2 pending",   "bob@low1 pending",  "carol@low2 pending",
	};
	struct stage *s = *state;
	char who[32];

	hold(s);
	for (size_t i = 0; i < 8; i++)
		(void)enqueue(s, waiters[i].as, waiters[i].priority);
	assert_string_equal(stage_queue(s, LOCK), "bob@critical1 dora@critical2 bob@high1 carol@high2 bob@normal1 "
						  "dora@normal2 bob@low1 carol@low2");
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	for (size_t i = 0; i < 8; i++) {
		assert_string_equal(stage_holder(s, LOCK), order[i]);
		(void)snprintf(who, sizeof(who), "%.*s", (int)strcspn(order[i], " "), order[i]);
		assert_int_equal(stage_release(s, LOCK, who), 0);
	}
	assert_string_equal(stage_holder(s, LOCK), "free");
}

/* However long one of a lower priority has waited. */
static void no_age_overtakes_a_priority(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "bob@old");

	assert_int_equal(stage_acquire(s, LOCK, "alice@pr:1", 0), 0);
	req->timeout = ATLOCK_NEVER;
	assert_int_equal(atlock_enqueue(s->al, req, NULL, NULL, &s->why), 0);
	stage_advance(s, INT64_C(400) * 86400);
	(void)enqueue(s, "bob@new", ATLOCK_HIGH);
	assert_string_equal(stage_queue(s, LOCK), "bob@new bob@old");
}

static void newcomer_never_slips_in(void **state)
{
	struct stage *s = *state;

	hold(s);
	(void)enqueue(s, "bob@1", ATLOCK_LOW);
	uint64_t before = stage_commits(s);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(stage_commits(s), before + 1);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), -EACCES);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
}

static void queue_of_one_lock_delays_no_other(void **state)
{
	struct stage *s = *state;

	hold(s);
	(void)enqueue(s, "bob@1", ATLOCK_CRITICAL);
	assert_int_equal(stage_acquire(s, "global/b", "carol@1", 60), 0);
	assert_int_equal(stage_enqueue(s, "global/b", "bob@1", ATLOCK_LOW, NULL), 0);
	assert_int_equal(stage_release(s, "global/b", "carol@1"), 0);
	assert_string_equal(stage_holder(s, "global/b"), "bob@1 pending");
}

static void grant_has_the_lease_and_text_that_were_asked_for(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "bob@1");

	hold(s);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "mine=1\n"), 0);
	req->ttl = 77 * ATLOCK_SECOND;
	req->priority = ATLOCK_HIGH;
	req->text = "reason=deploy\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_enqueue(s->al, req, NULL, NULL, &s->why), 0);
	stage_advance(s, 30);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.ttl, 77 * ATLOCK_SECOND);
	assert_int_equal(view.expires_at, atlock_now(s->al) + 77 * ATLOCK_SECOND);
	assert_int_equal(view.priority, ATLOCK_HIGH);
	assert_int_equal(view.version, 1);
	assert_string_equal(view.meta, "reason=deploy\n");
	atlock_view_clear(&view);
}

/* Waiting for what one holds already is acquiring it again: the lease and the text of the request count. */
static void holder_that_waits_changes_what_it_says(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	hold(s);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "mine=1\n"), 0);
	(void)stage_events(s);
	stage_advance(s, 5);
	req->text = "ttl=77s\nreason=deploy\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_wait(s->al, req, told_done, told, NULL, NULL, &s->why), 0);
	assert_string_equal(stage_events(s), "renewed");
	req->text = "reason=again\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_enqueue(s->al, req, NULL, NULL, &s->why), 2);
	assert_string_equal(stage_events(s), "changed");
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.ttl, 77 * ATLOCK_SECOND);
	assert_int_equal(view.expires_at, atlock_now(s->al) + 77 * ATLOCK_SECOND);
	assert_int_equal(view.version, 4);
	assert_string_equal(view.meta, "mine=1\nreason=again\n");
	atlock_view_clear(&view);
	/* Nothing said is nothing changed. */
	assert_int_equal(stage_wait(s, LOCK, "alice@1", ATLOCK_HIGH, told, NULL), 0);
	assert_string_equal(stage_events(s), "");
	assert_int_equal(told->times, 0);
}

/* Whoever has several tickets on a lock gets it once. */
static void one_grant_serves_all_tickets_of_a_holder(void **state)
{
	struct stage *s = *state;
	struct told *first = stage_told(s);
	struct told *second = stage_told(s);

	hold(s);
	(void)enqueue(s, "bob@1", ATLOCK_HIGH);
	(void)enqueue(s, "carol@1", ATLOCK_NORMAL);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_LOW, first, NULL), 1);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_LOW, second, NULL), 1);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	/* One of them is a blocked call, so it is taken up at once. */
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
	assert_int_equal(first->times + second->times, 2);
	assert_int_equal(first->err, 0);
	assert_int_equal(second->err, 0);
	assert_int_equal(first->grant.token, second->grant.token);
	assert_string_equal(stage_queue(s, LOCK), "carol@1");
}

static void second_ticket_of_a_holder_is_the_first(void **state)
{
	struct stage *s = *state;
	uint64_t again = 0;

	hold(s);
	uint64_t ticket = enqueue(s, "bob@1", ATLOCK_NORMAL);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_HIGH, &again), 1);
	assert_int_equal(again, ticket);
	assert_string_equal(stage_queue(s, LOCK), "bob@1");
}

static void waiting_for_oneself_is_refused_where_asked(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct atlock_request *req = stage_ask(s, LOCK, "alice@flock:7");

	hold(s);
	req->self = stage_ask(s, LOCK, "alice@1")->caller;
	assert_int_equal(atlock_wait(s->al, req, told_done, told, NULL, NULL, &s->why), -EDEADLK);
	assert_int_equal(s->why.code, ATLOCK_DEADLOCK);
	req->self = stage_ask(s, LOCK, "alice@2")->caller;
	assert_int_equal(atlock_wait(s->al, req, told_done, told, NULL, NULL, &s->why), 1);
	assert_int_equal(told->times, 0);
}

static void queue_has_a_limit(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "max_queue", "2");
	stage_configure(s, "queue_share", "100");
	hold(s);
	(void)enqueue(s, "bob@1", ATLOCK_NORMAL);
	uint64_t ticket = enqueue(s, "bob@2", ATLOCK_NORMAL);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@3", ATLOCK_CRITICAL, NULL), -EDQUOT);
	assert_int_equal(s->why.code, ATLOCK_QUEUE_FULL);
	assert_int_equal(stage_wait(s, LOCK, "bob@3", ATLOCK_CRITICAL, stage_told(s), NULL), -EDQUOT);
	assert_int_equal(cancel(s, "bob@2", ticket), 0);
	(void)enqueue(s, "bob@3", ATLOCK_NORMAL);
	assert_string_equal(stage_queue(s, LOCK), "bob@1 bob@3");
}

/* --- Leaving and moving --- */

static void cancelled_ticket_is_gone(void **state)
{
	struct stage *s = *state;

	hold(s);
	uint64_t ticket = enqueue(s, "bob@1", ATLOCK_NORMAL);
	assert_int_equal(cancel(s, "bob@1", ticket), 0);
	assert_string_equal(stage_queue(s, LOCK), "");
	assert_int_equal(cancel(s, "bob@1", ticket), 1);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_string_equal(stage_events(s), "acquired queued cancelled released");
}

static void only_its_owner_changes_a_ticket(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "root@1");

	hold(s);
	uint64_t ticket = enqueue(s, "bob@1", ATLOCK_NORMAL);
	uint64_t before = stage_commits(s);
	assert_int_equal(cancel(s, "bob@2", ticket), -EPERM);
	assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
	assert_int_equal(cancel(s, "alice@1", ticket), -EACCES);
	assert_int_equal(cancel(s, "root@1", ticket), -EACCES);
	assert_int_equal(reprioritise(s, "bob@2", ticket, ATLOCK_HIGH), -EPERM);
	assert_int_equal(reprioritise(s, "alice@1", ticket, ATLOCK_HIGH), -EACCES);
	assert_int_equal(stage_commits(s), before);
	req->force = true;
	assert_int_equal(atlock_cancel(s->al, req, ticket, &s->why), 0);
}

static void cancelled_waiter_is_told(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct atlock_name name = stage_name(LOCK);
	struct atlock_ticket ticket;

	hold(s);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	assert_int_equal(atlock_ticket_get(s->al, &name, 0, "bob", "1", &ticket), 0);
	assert_true(ticket.parked);
	assert_int_equal(cancel(s, "bob@1", ticket.ticket), 0);
	atlock_ticket_clear(&ticket);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, -ECANCELED);
}

static void waiter_that_gives_up_is_not_told(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	uint64_t wait;

	hold(s);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, &wait), 1);
	assert_int_equal(atlock_wait_cancel(s->al, wait), 0);
	assert_int_equal(atlock_wait_cancel(s->al, wait), 1);
	assert_string_equal(stage_queue(s, LOCK), "");
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_int_equal(told->times, 0);
}

static void waiter_that_was_granted_cannot_give_up(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	uint64_t wait;

	hold(s);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, &wait), 1);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(atlock_wait_cancel(s->al, wait), 1);
	assert_int_equal(told->times, 1);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
}

static void grant_that_nobody_takes_goes_to_the_next(void **state)
{
	struct stage *s = *state;
	struct told *absent = stage_told(s);
	struct told *next = stage_told(s);

	hold(s);
	absent->absent = true;
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, absent, NULL), 1);
	assert_int_equal(stage_wait(s, LOCK, "carol@1", ATLOCK_NORMAL, next, NULL), 1);
	(void)stage_events(s);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(absent->times, 1);
	assert_int_equal(absent->err, 0);
	assert_int_equal(next->times, 1);
	assert_int_equal(next->err, 0);
	assert_string_equal(stage_holder(s, LOCK), "carol@1");
	assert_string_equal(stage_events(s), "released granted released granted");
}

/* If the store cannot forget the ticket, it can still be granted: the wait must go on. */
static void giving_up_that_fails_leaves_the_wait(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	uint64_t wait;

	hold(s);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, &wait), 1);
	*mem_world_faults(s->world) = (struct mem_faults){ .fail_in = 1, .fail_error = EIO };
	assert_int_equal(atlock_wait_cancel(s->al, wait), -EIO);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, 0);
}

static void wait_that_cannot_be_written_is_no_wait(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	hold(s);
	*mem_world_faults(s->world) = (struct mem_faults){ .fail_in = 1, .fail_error = EIO };
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), -EIO);
	assert_string_equal(stage_queue(s, LOCK), "");
	stage_close(s);
	assert_int_equal(told->times, 0);
}

static void reprioritised_ticket_goes_to_the_end_of_its_priority(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name(LOCK);
	struct atlock_ticket ticket;

	hold(s);
	(void)enqueue(s, "bob@high", ATLOCK_HIGH);
	uint64_t moving = enqueue(s, "bob@moving", ATLOCK_NORMAL);
	(void)enqueue(s, "bob@normal", ATLOCK_NORMAL);
	uint64_t last = enqueue(s, "bob@low", ATLOCK_LOW);
	assert_int_equal(reprioritise(s, "bob@moving", moving, ATLOCK_HIGH), 0);
	assert_string_equal(stage_queue(s, LOCK), "bob@high bob@moving bob@normal bob@low");
	assert_int_equal(atlock_ticket_get(s->al, &name, 0, "bob", "moving", &ticket), 0);
	assert_true(ticket.ticket > last);
	assert_int_equal(ticket.priority, ATLOCK_HIGH);
	assert_int_equal(reprioritise(s, "bob@moving", ticket.ticket, ATLOCK_NORMAL), 0);
	atlock_ticket_clear(&ticket);
	assert_string_equal(stage_queue(s, LOCK), "bob@high bob@normal bob@moving bob@low");
	assert_int_equal(reprioritise(s, "bob@moving", moving, ATLOCK_LOW), 1);
}

static void same_priority_again_loses_no_place(void **state)
{
	struct stage *s = *state;

	hold(s);
	uint64_t ticket = enqueue(s, "bob@1", ATLOCK_NORMAL);
	(void)enqueue(s, "bob@2", ATLOCK_NORMAL);
	uint64_t before = stage_commits(s);
	assert_int_equal(reprioritise(s, "bob@1", ticket, ATLOCK_NORMAL), 0);
	assert_int_equal(stage_commits(s), before);
	assert_string_equal(stage_queue(s, LOCK), "bob@1 bob@2");
}

static void reprioritised_wait_keeps_its_waiter_and_text(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct atlock_request *req = stage_ask(s, LOCK, "bob@1");
	struct atlock_name name = stage_name(LOCK);
	struct atlock_ticket ticket;
	uint64_t wait;

	hold(s);
	req->text = "reason=x\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_wait(s->al, req, told_done, told, &wait, NULL, &s->why), 1);
	(void)enqueue(s, "carol@1", ATLOCK_NORMAL);
	assert_int_equal(atlock_ticket_get(s->al, &name, 0, "bob", "1", &ticket), 0);
	assert_int_equal(reprioritise(s, "bob@1", ticket.ticket, ATLOCK_HIGH), 0);
	atlock_ticket_clear(&ticket);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_string_equal(view.meta, "reason=x\n");
	atlock_view_clear(&view);
}

/* --- Looking --- */

static void positions_count_in_service_order(void **state)
{
	struct stage *s = *state;
	uint64_t tickets[3];
	static const uint64_t positions[] = { 3, 1, 2 };

	hold(s);
	tickets[0] = enqueue(s, "bob@1", ATLOCK_LOW);
	tickets[1] = enqueue(s, "bob@2", ATLOCK_HIGH);
	tickets[2] = enqueue(s, "bob@3", ATLOCK_NORMAL);
	for (size_t i = 0; i < 3; i++) {
		struct atlock_ticket ticket = ticket_get(s, tickets[i]);

		assert_int_equal(ticket.position, positions[i]);
		assert_int_equal(ticket.expected, -1);
		assert_false(ticket.parked);
		assert_int_equal(ticket.since, atlock_now(s->al));
		assert_int_equal(ticket.deadline, atlock_now(s->al) + s->options.queue_timeout);
		atlock_ticket_clear(&ticket);
	}
}

static int64_t expected_wait(struct stage *s, uint64_t number)
{
	struct atlock_ticket ticket = ticket_get(s, number);
	int64_t expected = ticket.expected;

	atlock_ticket_clear(&ticket);
	return expected / ATLOCK_SECOND;
}

static void expected_wait_comes_from_past_holds(void **state)
{
	struct stage *s = *state;

	for (int i = 0; i < 3; i++) {
		hold(s);
		stage_advance(s, 100);
		assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	}
	hold(s);
	uint64_t first = enqueue(s, "bob@1", ATLOCK_NORMAL);
	uint64_t second = enqueue(s, "bob@2", ATLOCK_NORMAL);
	assert_int_equal(expected_wait(s, first), 100);
	assert_int_equal(expected_wait(s, second), 200);
	stage_advance(s, 60);
	assert_int_equal(expected_wait(s, first), 40);
	assert_int_equal(expected_wait(s, second), 140);
	stage_advance(s, 60);
	assert_int_equal(expected_wait(s, first), 0);
	assert_int_equal(expected_wait(s, second), 100);
}

static int queues_add(void *arg, const struct atlock_name *name, uint64_t waiters)
{
	uint64_t *sum = arg;
	char path[64];

	assert_int_equal(atlock_name_print(NULL, name, path, sizeof(path)), 0);
	assert_true(strcmp(path, waiters == 2 ? "global/a" : "global/b") == 0);
	*sum = *sum * 10 + waiters;
	return 0;
}

static void queues_with_waiters_are_listed(void **state)
{
	struct stage *s = *state;
	uint64_t sum = 0;

	hold(s);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/c", "alice@1", 60), 0);
	(void)enqueue(s, "bob@1", ATLOCK_NORMAL);
	(void)enqueue(s, "bob@2", ATLOCK_NORMAL);
	assert_int_equal(stage_enqueue(s, "global/b", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(atlock_queues(s->al, NULL, queues_add, &sum), 0);
	assert_int_equal(sum, 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(free_lock_is_not_queued_for),
		STAGED(higher_priority_first_then_first_come_first_served),
		STAGED(no_age_overtakes_a_priority),
		STAGED(newcomer_never_slips_in),
		STAGED(queue_of_one_lock_delays_no_other),
		STAGED(grant_has_the_lease_and_text_that_were_asked_for),
		STAGED(holder_that_waits_changes_what_it_says),
		STAGED(one_grant_serves_all_tickets_of_a_holder),
		STAGED(second_ticket_of_a_holder_is_the_first),
		STAGED(waiting_for_oneself_is_refused_where_asked),
		STAGED(queue_has_a_limit),
		STAGED(cancelled_ticket_is_gone),
		STAGED(only_its_owner_changes_a_ticket),
		STAGED(cancelled_waiter_is_told),
		STAGED(waiter_that_gives_up_is_not_told),
		STAGED(waiter_that_was_granted_cannot_give_up),
		STAGED(grant_that_nobody_takes_goes_to_the_next),
		STAGED(giving_up_that_fails_leaves_the_wait),
		STAGED(wait_that_cannot_be_written_is_no_wait),
		STAGED(reprioritised_ticket_goes_to_the_end_of_its_priority),
		STAGED(same_priority_again_loses_no_place),
		STAGED(reprioritised_wait_keeps_its_waiter_and_text),
		STAGED(positions_count_in_service_order),
		STAGED(expected_wait_comes_from_past_holds),
		STAGED(queues_with_waiters_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
