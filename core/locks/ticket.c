/* Tickets in a queue: cancelling one, changing its priority. */
#include <errno.h>
#include <string.h>

#include "allow.h"
#include "event_log.h"
#include "expect.h"
#include "grant.h"
#include "limit.h"
#include "lock_hold.h"
#include "lock_name.h"
#include "rules.h"
#include "seal.h"
#include "view.h"
#include "waits.h"
#include "why.h"

struct place {
	struct slice lock;
	uint64_t number;
	const char *owner;
	const char *who;
};

/* Finds the ticket that a request means, if the caller may change it: 0 or 1 (none). */
static int place_take(struct op *op, struct place *place, struct ticket *ticket)
{
	struct record_lock record;
	int rc;

	place->lock = name_slice(op->request->name);
	rc = expire_lock(op, place->lock, &record);
	if (rc >= 0)
		rc = table_ticket_find(op, place->lock, place->number, ticket);
	return rc != 0 ? rc : rules_may_change_ticket(op, place->lock, &ticket->record);
}

static int cancel_in_txn(struct op *op)
{
	struct place *place = op->arg;
	struct ticket ticket;
	int rc = place_take(op, place, &ticket);

	if (rc != 0)
		return rc;
	op_tell(op, &ticket.record, -ECANCELED, ATLOCK_CANCELLED, NULL);
	rc = table_ticket_del(op, place->lock, &ticket);
	return rc == 0 ? event_ticket(op, ATLOCK_EVENT_CANCELLED, ATLOCK_CANCELLED, place->lock, &ticket) : rc;
}

/* The ticket becomes the last one of its new priority. */
static int reprioritise_in_txn(struct op *op)
{
	struct place *place = op->arg;
	struct record_key from;
	struct record_key to;
	struct ticket ticket;
	struct ticket moved;
	int rc;

	rc = place_take(op, place, &ticket);
	if (rc != 0 || ticket.record.priority == (uint8_t)op->request->priority)
		return rc;
	rc = allow_priority(op, place->lock, op->request->priority);
	if (rc < 0)
		return rc;
	moved = ticket;
	moved.record.priority = (uint8_t)op->request->priority;
	rc = op_number(op, place->lock, &moved.number);
	if (rc < 0)
		return rc;
	from = record_key_number(TABLE_TICKET_TEXT, ticket.number);
	to = record_key_number(TABLE_TICKET_TEXT, moved.number);
	rc = seal_move(op, &from, &to);
	if (rc == 0)
		rc = table_ticket_del(op, place->lock, &ticket);
	if (rc == 0)
		rc = table_ticket_put(op, place->lock, &moved);
	return rc == 0 ? event_reprioritised(op, place->lock, &ticket, &moved) : rc;
}

static int place_run(struct atlock *al, const struct atlock_request *req, enum metrics_call call, uint64_t number,
		     op_fn *fn, struct atlock_why *why)
{
	struct place place = { .number = number };
	struct op op;
	int rc;

	rc = rules_begin(&op, al, req, call, &place, why);
	if (rc < 0)
		return rc;
	/* Cancelling is not rate-limited. */
	rc = call == METRICS_CANCEL ? 0 : limit_rate(al, req->caller, why);
	return rc < 0 ? metrics_refused(al, call, rc, why) : op_run(&op, fn);
}

int atlock_cancel(struct atlock *al, const struct atlock_request *req, uint64_t ticket, struct atlock_why *why)
{
	return place_run(al, req, METRICS_CANCEL, ticket, cancel_in_txn, why);
}

int atlock_reprioritise(struct atlock *al, const struct atlock_request *req, uint64_t ticket, struct atlock_why *why)
{
	return place_run(al, req, METRICS_REPRIORITISE, ticket, reprioritise_in_txn, why);
}

/* A ticket that still exists has not been answered by any committed transaction. */
int waits_ticket(struct op *op, uint64_t number, struct slice *lock, struct ticket *ticket)
{
	struct atlock_caller caller;
	struct atlock_name name;
	uint64_t at = 0;
	uint8_t rank;
	int rc;

	if (waits_find(op->al->waits, number, &name, &caller) == 1)
		return 1;
	while ((rc = table_wait_next(op, slice_of(caller.owner), slice_of(caller.who), at, &at, &rank, lock)) == 0) {
		if (!slice_equal(*lock, name_slice(&name)))
			continue;
		rc = table_ticket_get(op, *lock, rank, at, ticket);
		if (rc < 0)
			return rc;
		if (rc == 0 && ticket->record.wait == number && ticket->record.instance == op->al->instance)
			return 0;
	}
	return rc;
}

/* Of a call in doubt that has no ticket: gives back what another host has granted to it. */
static int doubt_give_back(struct op *op, uint64_t number)
{
	struct atlock_caller caller;
	struct record_queue queue;
	struct record_lock record;
	struct atlock_name name;
	int rc = waits_find(op->al->waits, number, &name, &caller);

	if (rc == 0)
		rc = expire_lock_queue(op, name_slice(&name), &record, &queue);
	if (rc != 0 || record.grant.state != RECORD_PENDING || record.grant.wait != number ||
	    record.grant.holder.boot != op->al->boot)
		return rc < 0 ? rc : 0;
	rc = lock_release(op, name_slice(&name), &record, &queue, ATLOCK_EVENT_UNCLAIMED);
	return rc < 0 ? rc : 0;
}

/* The call is either cancelled here or answered elsewhere, never both. */
static int wait_drop_in_txn(struct op *op)
{
	const uint64_t *number = op->arg;
	struct ticket ticket;
	struct slice lock;
	int rc = waits_ticket(op, *number, &lock, &ticket);

	if (rc == 1 && waits_is_doubtful(op->al->waits, *number))
		return doubt_give_back(op, *number);
	if (rc == 0)
		rc = table_ticket_del(op, lock, &ticket);
	return rc == 0 ? event_ticket(op, ATLOCK_EVENT_CANCELLED, ATLOCK_CANCELLED, lock, &ticket) : rc;
}

int waits_unqueue(struct atlock *al, uint64_t number)
{
	return op_call(al, NULL, METRICS_NONE, wait_drop_in_txn, &number, NULL);
}

int atlock_wait_cancel(struct atlock *al, uint64_t wait)
{
	int rc = al == NULL ? -EINVAL : waits_unqueue(al, wait);

	if (rc < 0 && al != NULL)
		waits_leave(al, wait);
	return rc == 0 ? waits_cancel(al->waits, wait) : rc;
}
