/*
 * A ticket that is looked at alone shows the position that it has in the list of all, whatever was remembered before others came
 * and went.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "global/a"
#define WAITERS 1500

struct order {
	struct {
		uint64_t ticket;
		uint64_t position;
		char who[16];
	} list[WAITERS + 64];
	size_t count;
};

static int order_add(void *arg, const struct atlock_ticket *ticket)
{
	struct order *order = arg;

	assert_true(order->count < sizeof(order->list) / sizeof(order->list[0]));
	order->list[order->count].ticket = ticket->ticket;
	order->list[order->count].position = ticket->position;
	(void)snprintf(order->list[order->count++].who, sizeof(order->list[0].who), "%s", ticket->who);
	return 0;
}

/* Every n-th ticket by its number and by its holder, in an order that jumps. */
static void positions_agree(struct stage *s, struct order *order, size_t looks)
{
	struct atlock_name name = stage_name(LOCK);
	struct atlock_ticket ticket;

	order->count = 0;
	assert_int_equal(atlock_queue_list(s->al, &name, NULL, order_add, order), 0);
	for (size_t i = 0; i < looks && order->count > 0; i++) {
		size_t at = i * 7919 % order->count;

		assert_int_equal(order->list[at].position, at + 1);
		assert_int_equal(atlock_ticket_get(s->al, &name, order->list[at].ticket, NULL, NULL, &ticket), 0);
		assert_int_equal(ticket.position, at + 1);
		atlock_ticket_clear(&ticket);
		assert_int_equal(atlock_ticket_get(s->al, &name, 0, "bob", order->list[at].who, &ticket), 0);
		assert_int_equal(ticket.position, at + 1);
		assert_int_equal(ticket.ticket, order->list[at].ticket);
		atlock_ticket_clear(&ticket);
	}
}

static void join(struct stage *s, unsigned int i)
{
	char as[32];

	(void)snprintf(as, sizeof(as), "bob@%u", i);
	assert_int_equal(stage_enqueue(s, LOCK, as, (enum atlock_priority)(i % 7 % ATLOCK_PRIORITIES), NULL), 0);
}

static struct order *crowd(struct stage *s, unsigned int count)
{
	struct order *order = malloc(sizeof(*order));

	assert_non_null(order);
	stage_configure(s, "max_queue", "100000");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 6000), 0);
	for (unsigned int i = 0; i < count; i++)
		join(s, i);
	return order;
}

static void every_ticket_of_a_long_queue(void **state)
{
	struct stage *s = *state;
	struct order *order = crowd(s, WAITERS);

	positions_agree(s, order, WAITERS);
	free(order);
}

static void tickets_that_come_and_go_move_others(void **state)
{
	struct stage *s = *state;
	struct order *order = crowd(s, 100);
	struct atlock_request *req;

	for (unsigned int i = 0; i < 60; i++) {
		size_t at;

		positions_agree(s, order, 25);
		at = i * 31 % order->count;
		req = stage_ask(s, LOCK, "root@1");
		req->force = true;
		req->priority = ATLOCK_CRITICAL;
		if (i % 3 == 0)
			join(s, 1000 + i);
		else if (i % 3 == 1)
			assert_int_equal(atlock_cancel(s->al, req, order->list[at].ticket, &s->why), 0);
		else
			assert_int_equal(atlock_reprioritise(s->al, req, order->list[at].ticket, &s->why), 0);
	}
	positions_agree(s, order, 200);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	positions_agree(s, order, 200);
	free(order);
}

/* One that has given up counts no more, whether or not anybody has removed it. */
static void tickets_past_their_deadline_do_not_count(void **state)
{
	struct stage *s = *state;
	struct order *order;

	stage_configure(s, "queue_timeout", "10m");
	order = crowd(s, 40);
	stage_advance(s, 300);
	for (unsigned int i = 40; i < 80; i++)
		join(s, i);
	positions_agree(s, order, 80);
	assert_int_equal(order->count, 80);
	stage_advance(s, 301);
	positions_agree(s, order, 80);
	assert_int_equal(order->count, 40);
	free(order);
}

/* The name does not say whose: the first in service order of that priority is. */
static void ticket_of_a_who_is_found_whoever_owns_it(void **state)
{
	struct atlock_name name = stage_name(LOCK);
	struct stage *s = *state;
	struct atlock_ticket ticket;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 6000), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@x", ATLOCK_HIGH, NULL), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "dave@x", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@x", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(atlock_ticket_find(s->al, &name, ATLOCK_NORMAL, "x", &ticket), 0);
	assert_string_equal(ticket.owner, "dave");
	assert_int_equal(ticket.position, 2);
	atlock_ticket_clear(&ticket);
	assert_int_equal(atlock_ticket_find(s->al, &name, ATLOCK_HIGH, "x", &ticket), 0);
	assert_string_equal(ticket.owner, "carol");
	atlock_ticket_clear(&ticket);
	assert_int_equal(atlock_ticket_find(s->al, &name, ATLOCK_LOW, "x", &ticket), 1);
	assert_int_equal(atlock_ticket_find(s->al, &name, ATLOCK_HIGH, "y", &ticket), 1);
	assert_int_equal(atlock_ticket_find(s->al, &name, ATLOCK_PRIORITIES, "x", &ticket), -EINVAL);
	assert_int_equal(atlock_ticket_find(s->al, &name, ATLOCK_HIGH, NULL, &ticket), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(every_ticket_of_a_long_queue),
		STAGED(tickets_that_come_and_go_move_others),
		STAGED(tickets_past_their_deadline_do_not_count),
		STAGED(ticket_of_a_who_is_found_whoever_owns_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
