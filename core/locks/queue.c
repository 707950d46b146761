/* Joining a queue: blocked calls, and tickets that outlive their caller. */
#include <errno.h>
#include <string.h>

#include "acquire.h"
#include "allow.h"
#include "deadlock.h"
#include "event_log.h"
#include "expect.h"
#include "limit.h"
#include "rules.h"
#include "seal.h"
#include "space.h"
#include "why.h"

/* The holder's ticket on this lock that no call is blocked on: 0 or 1. */
static int find_persistent(struct op *op, struct slice lock, struct ticket *out)
{
	struct slice owner = slice_of(op->caller->owner);
	struct slice who = slice_of(op->caller->who);
	uint64_t number = 0;
	struct slice waited;
	uint8_t rank;
	int rc;

	while ((rc = table_wait_next(op, owner, who, number, &number, &rank, &waited)) == 0) {
		if (!slice_equal(waited, lock))
			continue;
		rc = table_ticket_get(op, lock, rank, number, out);
		if (rc != 0)
			return rc < 0 ? rc : op_corrupt(op, waited, -EBADMSG);
		if (out->record.wait == 0 && rules_is_holder(op, &out->record.holder, op->caller))
			return 0;
	}
	return rc;
}

static int refuse_full(struct op *op, struct slice lock, const struct record_lock *record)
{
	return rules_refuse_held(op, lock, record, -EDQUOT, ATLOCK_QUEUE_FULL,
				 "the queue is full (option max_queue), try again later");
}

static int ticket_check(struct op *op, struct slice lock, const struct record_grant *held,
			const struct record_ticket *ticket)
{
	struct actor waiter = actor_of(lock, &ticket->holder);

	return deadlock_check_wait(op, lock, held, &waiter, NULL, 0);
}

/* Writes the ticket, then checks whether the wait closes a circle. `record` is the lock's. */
static int ticket_write(struct op *op, struct slice lock, const struct record_lock *record, struct acquire *acquire)
{
	struct record_key text;
	struct ticket ticket = {
		.record = {
			.priority = (uint8_t)acquire->priority,
			.wait = op->wait,
			.instance = op->al->instance,
			.since = op->now,
			.ttl = acquire->ttl,
			.holder = table_holder(op, op->caller),
		},
	};
	int64_t timeout = acquire->timeout;
	int rc;

	rc = timeout == ATLOCK_AUTO ? expect_patience(op, lock, ticket.record.priority, &timeout) : 0;
	ticket.record.deadline = timeout >= ATLOCK_NEVER - op->now ? ATLOCK_NEVER : op->now + timeout;
	if (rc == 0)
		rc = op_number(op, lock, &ticket.number);
	if (rc == 0)
		rc = table_ticket_put(op, lock, &ticket);
	if (rc == 0 && acquire->change.meta_len > 0) {
		text = record_key_number(TABLE_TICKET_TEXT, ticket.number);
		rc = seal_put(op, &text, (struct slice){ acquire->change.meta, acquire->change.meta_len });
	}
	if (rc == 0)
		rc = event_ticket(op, ATLOCK_EVENT_QUEUED, ATLOCK_OK, lock, &ticket);
	if (rc == 0)
		rc = ticket_check(op, lock, &record->grant, &ticket.record);
	if (rc < 0)
		return rc;
	op_bound(op, ticket.record.holder.who, ticket.record.holder.start);
	acquire->ticket = ticket.number;
	rc = table_ticket_get(op, lock, table_rank(ticket.record.priority), ticket.number, &ticket);
	if (rc == 1) {
		/*
		 * This request is the victim. The changes of the check must be kept, so the refusal must not abort the
		 * transaction.
		 */
		op->refusal = why_set(op->why, -EDEADLK, ATLOCK_DEADLOCK, "%s",
				      op_circle_text(op) != NULL ? op_circle_text(op) : "a deadlock");
		return ACQUIRE_QUEUED;
	}
	return rc < 0 ? rc : ACQUIRE_QUEUED;
}

/*
 * Every condition of waiting for a lock, in the order in which they are reported. The waiter will be given the lock without
 * another check, so the conditions of taking it are included.
 */
static int admit_wait(struct op *op, struct slice lock, const struct record_lock *record, enum atlock_priority priority)
{
	struct record_queue queue;
	int rc;

	rc = allow_action(op, lock, POLICY_WAIT);
	if (rc == 0)
		rc = allow_action(op, lock, POLICY_ACQUIRE);
	if (rc == 0)
		rc = allow_priority(op, lock, priority);
	if (rc == 0)
		rc = limit_waits(op);
	if (rc == 0)
		rc = table_queue_get(op, lock, &queue);
	if (rc == 0 && queue.count >= (uint64_t)op->options->max_queue)
		rc = refuse_full(op, lock, record);
	if (rc == 0)
		rc = limit_queue(op, lock, queue.count);
	return rc == 0 ? space_check(op) : rc;
}

int queue_join(struct op *op, struct slice lock, const struct record_lock *record, struct acquire *acquire)
{
	const struct atlock_caller *self = op->request->self;
	struct ticket ticket = { .number = 0 };
	int rc;

	if (self != NULL && record->grant.state != RECORD_DELAYED && rules_is_holder(op, &record->grant.holder, self))
		return rules_refuse_held(
			op, lock, record, -EDEADLK, ATLOCK_DEADLOCK,
			"your session holds it and would wait for ever: rm it first, or go on without waiting");
	if (op->wait == 0) {
		rc = find_persistent(op, lock, &ticket);
		if (rc == 0)
			acquire->ticket = ticket.number;
		if (rc <= 0)
			return rc < 0 ? rc : ACQUIRE_WAITS;
	}
	rc = admit_wait(op, lock, record, acquire->priority);
	return rc < 0 ? rc : ticket_write(op, lock, record, acquire);
}
