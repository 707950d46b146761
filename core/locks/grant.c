#include "grant.h"

#include <errno.h>
#include <string.h>

#include "deadlock.h"
#include "dir_path.h"
#include "event_log.h"
#include "holder.h"
#include "seal.h"
#include "text.h"
#include "why.h"

#define HOLD_WEIGHT 4 /* the newest counts a quarter */

int grant_note_hold(struct op *op, struct slice lock, const struct record_grant *grant, bool waited_for)
{
	int64_t hold = op->now - grant->acquired;
	struct record_hold stat;
	int rc;

	op_mark(op, MARK_HELD, 0, hold);
	/* A short hold without waiters says nothing about waiting, and most holds are such: save the write. */
	if (!waited_for && hold < ATLOCK_SECOND)
		return 0;
	struct record_key key = record_key_hold(lock);
	rc = op_get(op, RECORD_HOLD_TIME, &key, &stat);
	if (rc < 0)
		return rc;
	if (rc == 1)
		stat = (struct record_hold){ .count = 0, .mean = hold };
	stat.count++;
	stat.mean += (hold - stat.mean) / HOLD_WEIGHT;
	return op_put(op, RECORD_HOLD_TIME, &key, &stat);
}

int grant_mean_hold(struct op *op, struct slice lock, int64_t *mean)
{
	struct record_key key = record_key_hold(lock);
	struct record_hold stat;
	int rc = op_get(op, RECORD_HOLD_TIME, &key, &stat);

	if (rc == 0)
		*mean = stat.mean;
	return rc;
}

static void lease_begin(const struct op *op, struct record_grant *grant)
{
	grant->renewed = op->now;
	grant->expires = grant->ttl == ATLOCK_NEVER ? ATLOCK_NEVER : op->now + grant->ttl;
}

void grant_begin_lease(const struct op *op, struct record_grant *grant)
{
	grant->state = RECORD_ACQUIRED;
	grant->claim_by = 0;
	grant->wait = 0;
	lease_begin(op, grant);
}

/* Sets the numbers and times of a new grant. */
static int grant_prepare(struct op *op, struct slice lock, struct record_grant *grant)
{
	int rc = op_number(op, lock, &grant->token);

	if (rc < 0)
		return rc;
	grant->version = 1;
	grant->id_time = (uint64_t)op->wall;
	grant->id_random = (uint32_t)((op->random ^ grant->token * UINT64_C(0x9e3779b97f4a7c15)) >> 24);
	grant->acquired = op->now;
	lease_begin(op, grant);
	return 0;
}

int grant_write(struct op *op, struct slice lock, const struct record_lock *old, struct record_lock *record)
{
	int rc = grant_prepare(op, lock, &record->grant);

	if (rc == 0)
		rc = table_lock_put(op, lock, old, record);
	if (rc == 0)
		op_bound(op, record->grant.holder.who, record->grant.holder.start);
	return rc;
}

int grant_drop_tickets(struct op *op, struct slice lock, const struct record_holder *holder, int err,
		       enum atlock_code code, const struct record_grant *granted, bool *blocked)
{
	enum atlock_event_type type = err == -EDEADLK ? ATLOCK_EVENT_DEADLOCK : ATLOCK_EVENT_CANCELLED;
	uint64_t number = 0;
	struct slice waited;
	struct ticket ticket;
	uint8_t rank;
	int count = 0;
	int rc;

	while ((rc = table_wait_next(op, holder->owner, holder->who, number, &number, &rank, &waited)) == 0) {
		if (!slice_equal(waited, lock))
			continue;
		rc = table_ticket_get(op, lock, rank, number, &ticket);
		if (rc != 0)
			return rc == 1 ? op_corrupt(op, waited, -EBADMSG) : rc;
		if (table_holder_is_elsewhere(op, &ticket.record.holder, holder->boot))
			continue;
		/* Another host's call is not answered from here: its own host claims the grant for it, and answers. */
		if (ticket.record.wait != 0 && blocked != NULL &&
		    (!op->al->shared || ticket.record.instance == op->al->instance))
			*blocked = true;
		op_tell(op, &ticket.record, err, code, granted);
		rc = table_ticket_del(op, lock, &ticket);
		if (rc == 0 && err != 0)
			rc = event_ticket(op, type, code, lock, &ticket);
		if (rc < 0)
			return rc;
		count++;
	}
	return rc < 0 ? rc : count;
}

/* Names the lock and who still has it. Not why: that may be hidden from the caller that waited. */
static void time_out_explain(struct op *op, struct slice lock)
{
	struct record_lock record;
	const struct record_holder *holder = &record.grant.holder;
	char path[ATLOCK_PATH_MAX];
	char since[TEXT_TIME_MAX];
	struct atlock_why why;

	if (dir_path(op, lock, path, sizeof(path)) < 0 || table_lock_get(op, lock, &record) != 0 ||
	    record.grant.state == RECORD_DELAYED)
		return;
	text_time(record.grant.acquired + (op->wall - op->now), since, sizeof(since));
	(void)why_set(
		&why, -ETIMEDOUT, ATLOCK_TIMEOUT,
		"%s did not become free in time, %.*s@%.*s has it since %s: wait again, or longer (timeout=, option "
		"queue_timeout)",
		path, (int)holder->owner.len, (const char *)holder->owner.data, (int)holder->who.len,
		(const char *)holder->who.data, since);
	op_late(op, why.text);
}

int grant_time_out(struct op *op, struct slice lock, const struct ticket *ticket)
{
	int rc;

	if (op_tells(op, &ticket->record))
		time_out_explain(op, lock);
	op_tell(op, &ticket->record, -ETIMEDOUT, ATLOCK_TIMEOUT, NULL);
	rc = table_ticket_del(op, lock, ticket);
	return rc == 0 ? event_ticket(op, ATLOCK_EVENT_TIMED_OUT, ATLOCK_TIMEOUT, lock, ticket) : rc;
}

/* Moves the ticket's text to the lock. */
static int grant_move_text(struct op *op, struct slice lock, uint64_t ticket)
{
	struct record_key from = record_key_number(TABLE_TICKET_TEXT, ticket);
	struct record_key to = record_key_of(TABLE_TEXT, lock);

	return seal_move(op, &from, &to);
}

/* The call of another host that a new grant is for. A holder that had a second ticket may take it up without that call. */
static uint64_t wait_of(const struct op *op, const struct record_grant *grant, const struct record_ticket *ticket,
			int tickets)
{
	return op->al->shared && grant->state == RECORD_PENDING && tickets == 1 ? ticket->wait : 0;
}

static int grant_to(struct op *op, struct slice lock, const struct record_lock *old, const struct ticket *ticket,
		    struct record_lock *record)
{
	const struct record_ticket *from = &ticket->record;
	struct record_lock new = {
		.mode = 0644,
		.grant = {
			.priority = from->priority,
			.ttl = from->ttl,
			.ticket = ticket->number,
			.holder = from->holder,
		},
	};
	struct record_grant *grant = &new.grant;
	bool blocked = false;
	int rc;

	rc = grant_prepare(op, lock, grant);
	if (rc == 0)
		rc = grant_move_text(op, lock, ticket->number);
	if (rc == 0)
		rc = grant_drop_tickets(op, lock, &grant->holder, 0, ATLOCK_OK, grant, &blocked);
	if (rc < 0)
		return rc;
	grant->state = blocked ? RECORD_ACQUIRED : RECORD_PENDING;
	grant->claim_by = blocked ? 0 : op->now + op->options->claim_timeout;
	grant->wait = wait_of(op, grant, from, rc);
	rc = table_lock_put(op, lock, old, &new);
	if (rc == 0)
		rc = event_lock(op, ATLOCK_EVENT_GRANTED, lock, grant);
	op_mark(op, MARK_WAITED, from->priority, op->now - from->since);
	if (rc == 0)
		rc = deadlock_check(op, lock, &grant->holder);
	*record = new;
	return rc < 0 ? rc : 0;
}

/* The ticket of a holder on a lock that is first in service order: 0 or 1 (none). */
static int first_ticket_of(struct op *op, struct slice lock, const struct record_holder *holder, struct ticket *out)
{
	uint8_t first = ATLOCK_PRIORITIES;
	uint64_t found = 0;
	uint64_t at = 0;
	struct slice waited;
	uint8_t rank;
	int rc;

	while ((rc = table_wait_next(op, holder->owner, holder->who, at, &at, &rank, &waited)) == 0) {
		if (rank >= first || !slice_equal(waited, lock))
			continue;
		rc = table_ticket_get(op, lock, rank, at, out);
		if (rc != 0)
			return rc == 1 ? op_corrupt(op, lock, -EBADMSG) : rc;
		if (table_holder_is_elsewhere(op, &out->record.holder, holder->boot))
			continue;
		first = rank;
		found = at;
	}
	if (rc < 0 || first == ATLOCK_PRIORITIES)
		return rc < 0 ? rc : 1;
	rc = table_ticket_get(op, lock, first, found, out);
	return rc == 1 ? op_corrupt(op, lock, -EBADMSG) : rc;
}

int grant_to_ticket_of(struct op *op, struct slice lock, struct record_lock *record)
{
	struct record_grant *grant = &record->grant;
	bool blocked = false;
	struct ticket ticket;
	int rc = first_ticket_of(op, lock, &grant->holder, &ticket);

	if (rc != 0)
		return rc;
	record->mode = 0644;
	grant->priority = ticket.record.priority;
	grant->ttl = ticket.record.ttl;
	grant->ticket = ticket.number;
	grant->holder = ticket.record.holder;
	lease_begin(op, grant);
	rc = grant_move_text(op, lock, ticket.number);
	grant->version++;
	if (rc == 0)
		rc = grant_drop_tickets(op, lock, &grant->holder, 0, ATLOCK_OK, grant, &blocked);
	grant->version--;
	grant->state = blocked ? RECORD_ACQUIRED : RECORD_PENDING;
	grant->claim_by = blocked ? 0 : op->now + op->options->claim_timeout;
	grant->wait = wait_of(op, grant, &ticket.record, rc);
	op_mark(op, MARK_WAITED, ticket.record.priority, op->now - ticket.record.since);
	return rc < 0 ? rc : 0;
}

int grant_next(struct op *op, struct slice lock, const struct record_lock *old, const struct record_queue *queue,
	       struct record_lock *record)
{
	struct ticket ticket;
	int rc = queue->count == 0;

	/* Mostly the queue is empty, and searching for tickets among keys that were just removed is slow. */
	while (rc == 0 && (rc = table_ticket_first(op, lock, &ticket)) == 0) {
		if (!table_ticket_is_over(op, &ticket.record))
			return grant_to(op, lock, old, &ticket, record);
		rc = grant_time_out(op, lock, &ticket);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	rc = old != NULL ? table_lock_del(op, lock, old) : 0;
	return rc < 0 ? rc : 1;
}

/* The bound is of no use among hosts without a common clock: only the sweep, which has found one that is over, looks there. */
static bool expire_is_due(const struct op *op, const struct record_queue *queue)
{
	return op->al->shared ? op->sweeps : queue->min_deadline < op->now;
}

/* Removes tickets past their deadline. Scans the queue only if its earliest deadline has passed. Updates `queue`. */
static int expire_tickets(struct op *op, struct slice lock, struct record_queue *queue)
{
	struct ticket ticket = { .number = 0 };
	int64_t earliest = ATLOCK_NEVER;
	uint8_t rank = 0;
	int rc;

	rc = table_queue_get(op, lock, queue);
	if (rc < 0 || queue->count == 0 || !expire_is_due(op, queue))
		return rc;
	while ((rc = table_ticket_next(op, lock, rank, ticket.number, &ticket)) == 0) {
		rank = table_rank(ticket.record.priority);
		if (!table_ticket_is_over(op, &ticket.record)) {
			if (ticket.record.deadline < earliest)
				earliest = ticket.record.deadline;
			continue;
		}
		rc = grant_time_out(op, lock, &ticket);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	rc = table_queue_get(op, lock, queue);
	if (rc < 0 || queue->count == 0)
		return rc;
	queue->min_deadline = op->al->shared ? 0 : earliest;
	return table_queue_put(op, lock, queue);
}

/* Ends a lease. With lock_delay the lock rests before the next grant, so that a paused holder can notice. */
static int expire_lease(struct op *op, struct slice lock, const struct record_lock *old,
			const struct record_queue *queue, struct record_lock *record)
{
	struct record_key text = record_key_of(TABLE_TEXT, lock);
	int rc;

	rc = event_lock(op, ATLOCK_EVENT_EXPIRED, lock, &old->grant);
	if (rc == 0)
		rc = grant_note_hold(op, lock, &old->grant, queue->count > 0);
	if (rc < 0)
		return rc;
	if (op->options->lock_delay == 0)
		return grant_next(op, lock, old, queue, record);
	rc = store_del(op->txn, record_key_slice(&text));
	if (rc < 0)
		return rc;
	*record = *old;
	record->grant.state = RECORD_DELAYED;
	record->grant.expires = op->now + op->options->lock_delay;
	return table_lock_put(op, lock, old, record);
}

/* Ends a grant, claim or delay whose time is over, and passes the lock on. */
static int expire_due(struct op *op, struct slice lock, const struct record_queue *queue, struct record_lock *record)
{
	struct record_lock old = *record;
	int rc;

	if (old.grant.state == RECORD_DELAYED)
		return grant_next(op, lock, &old, queue, record);
	if (old.grant.expires < op->now)
		return expire_lease(op, lock, &old, queue, record);
	rc = event_lock(op, ATLOCK_EVENT_UNCLAIMED, lock, &old.grant);
	return rc < 0 ? rc : grant_next(op, lock, &old, queue, record);
}

int expire_lock_queue(struct op *op, struct slice lock, struct record_lock *record, struct record_queue *queue)
{
	int rc;

	rc = table_lock_get(op, lock, record);
	if (rc != 0)
		return rc;
	rc = expire_tickets(op, lock, queue);
	if (rc < 0 || table_grant_free_at(&record->grant) >= op->now)
		return rc;
	rc = expire_due(op, lock, queue, record);
	return rc == 0 ? table_queue_get(op, lock, queue) : rc;
}

int expire_lock(struct op *op, struct slice lock, struct record_lock *record)
{
	struct record_queue queue;

	return expire_lock_queue(op, lock, record, &queue);
}
