/* Joining a queue: blocked calls and tickets that outlive their caller. */
#include <errno.h>
#include <string.h>

#include "allow.h"
#include "bound.h"
#include "deadlock.h"
#include "event.h"
#include "expect.h"
#include "grant.h"
#include "limit.h"
#include "lock.h"
#include "rules.h"
#include "seal.h"
#include "shared_guard.h"
#include "space.h"
#include "waits.h"
#include "why.h"

enum join_outcome { JOIN_QUEUED, JOIN_ALREADY, JOIN_TAKEN };

struct join {
	struct text_change change;
	enum atlock_priority priority;
	int64_t asked;   /* lease that the request says, 0 if none */
	int64_t ttl;     /* for a new grant */
	int64_t timeout; /* or ATLOCK_AUTO */
	/* Set by each run. */
	uint64_t ticket;
	struct atlock_grant grant;
};

/* The holder's ticket on this lock that nobody is blocked on: 0 or 1. */
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
		if (out->record.wait == 0 && rules_is_waiter(op, &out->record, op->caller))
			return 0;
	}
	return rc;
}

static int refuse_full(struct op *op, struct slice lock, const struct record_lock *record)
{
	return rules_refuse_held(op, lock, record, -EDQUOT, ATLOCK_QUEUE_FULL,
				 "the queue is full (option max_queue), try again later");
}

static int join_check(struct op *op, struct slice lock, const struct record_lock *record,
		      const struct record_ticket *ticket)
{
	struct actor waiter = actor_of_ticket(lock, ticket);

	return deadlock_check_wait(op, lock, record, &waiter, NULL, 0);
}

/* Writes the ticket, then sees whether the wait closes a circle. `record` is the lock's. */
static int join_queue(struct op *op, struct slice lock, const struct record_lock *record, struct join *join)
{
	const struct atlock_caller *caller = op->caller;
	struct record_key text;
	struct ticket ticket = {
		.record = {
			.priority = (uint8_t)join->priority,
			.uid = caller->uid,
			.gid = caller->gid,
			.pid = (uint32_t)caller->pid,
			.boot = op->al->boot,
			.start = caller->bound_start,
			.wait = op->wait,
			.instance = op->al->instance,
			.since = op->now,
			.ttl = join->ttl,
			.owner = slice_of(caller->owner),
			.who = slice_of(caller->who),
			.host = slice_of(op->al->host),
		},
	};
	int64_t timeout = join->timeout;
	int rc;

	rc = timeout == ATLOCK_AUTO ? expect_patience(op, lock, ticket.record.priority, &timeout) : 0;
	ticket.record.deadline = timeout >= ATLOCK_NEVER - op->now ? ATLOCK_NEVER : op->now + timeout;
	if (rc == 0)
		rc = op_number(op, &ticket.number);
	if (rc == 0)
		rc = table_ticket_put(op, lock, &ticket);
	if (rc == 0 && join->change.meta_len > 0) {
		text = record_key_number(TABLE_TICKET_TEXT, ticket.number);
		rc = seal_put(op, &text, (struct slice){ join->change.meta, join->change.meta_len });
	}
	if (rc == 0)
		rc = event_ticket(op, ATLOCK_EVENT_QUEUED, ATLOCK_OK, lock, &ticket);
	if (rc == 0)
		rc = join_check(op, lock, record, &ticket.record);
	if (rc < 0)
		return rc;
	op_bound(op, ticket.record.who, ticket.record.start);
	join->ticket = ticket.number;
	rc = table_ticket_get(op, lock, table_rank(ticket.record.priority), ticket.number, &ticket);
	if (rc == 1) {
		/* This request was the victim. What the check did stays, so the refusal must not undo the transaction. */
		op->refusal = why_set(op->why, -EDEADLK, ATLOCK_DEADLOCK, "%s",
				      op_circle_text(op) != NULL ? op_circle_text(op) : "a deadlock");
		return JOIN_QUEUED;
	}
	return rc < 0 ? rc : JOIN_QUEUED;
}

/* Who waits will be given the lock without asking again: he must be allowed both, and have room for it. */
static int join_allow(struct op *op, struct slice lock, const struct join *join)
{
	int rc = allow_action(op, lock, POLICY_WAIT);

	if (rc == 0)
		rc = allow_action(op, lock, POLICY_ACQUIRE);
	if (rc == 0)
		rc = allow_priority(op, lock, join->priority);
	return rc == 0 ? limit_waits(op) : rc;
}

static int join_in_txn(struct op *op)
{
	struct slice lock = name_slice(op->request->name);
	const struct atlock_caller *self = op->request->self;
	struct join *join = op->arg;
	struct record_queue queue;
	struct record_lock record;
	struct ticket ticket = { .number = 0 };
	int rc;

	join->ticket = 0;
	rc = why_line(op->why, allow_lease(op, lock, join->asked), join->change.lease_line);
	if (rc < 0)
		return rc;
	rc = expire_lock(op, lock, &record);
	if (rc < 0)
		return rc;
	if (rc == 1 || (record.state != RECORD_DELAYED && rules_is_holder(op, &record, op->caller))) {
		rc = rc == 1 ? lock_take(op, lock, join->ttl, join->priority, &join->change, &record)
			     : lock_again(op, lock, join->asked == 0 ? 0 : join->ttl, &join->change, &record);
		table_grant_fill(&join->grant, &record);
		join->grant.again = rc == 1;
		return rc < 0 ? rc : JOIN_TAKEN;
	}
	if (self != NULL && record.state != RECORD_DELAYED && rules_is_holder(op, &record, self))
		return rules_refuse_held(
			op, lock, &record, -EDEADLK, ATLOCK_DEADLOCK,
			"your session holds it and would wait for ever: rm it first, or go on without waiting");
	if (op->wait == 0) {
		rc = find_persistent(op, lock, &ticket);
		if (rc == 0)
			join->ticket = ticket.number;
		if (rc <= 0)
			return rc < 0 ? rc : JOIN_ALREADY;
	}
	rc = join_allow(op, lock, join);
	if (rc == 0)
		rc = table_queue_get(op, lock, &queue);
	if (rc == 0 && queue.count >= (uint64_t)op->options->max_queue)
		rc = refuse_full(op, lock, &record);
	if (rc == 0)
		rc = space_check(op);
	return rc < 0 ? rc : join_queue(op, lock, &record, join);
}

/* Everything that can be refused without looking at the lock. */
static int join_prepare(struct atlock *al, const struct atlock_request *req, struct join *join, struct atlock_why *why)
{
	const struct atlock_options *options;
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = rules_request(req, why);
	if (rc == 0)
		rc = shared_refuse_wait(req, why);
	if (rc == 0)
		rc = limit_rate(al, req->caller, why);
	if (rc == 0)
		rc = lock_text_parse(req, false, &join->change, why);
	if (rc < 0)
		return rc;
	options = state_options(al);
	join->priority = join->change.priority >= 0 ? (enum atlock_priority)join->change.priority : req->priority;
	join->asked = join->change.ttl != 0 ? join->change.ttl : req->ttl;
	rc = why_line(why, rules_ttl(options, req->caller, join->asked, &join->ttl, why), join->change.lease_line);
	if (rc == 0)
		rc = rules_timeout(options, join->change.timeout != 0 ? join->change.timeout : req->timeout,
				   &join->timeout, why);
	if (rc == 0)
		rc = bound_watch(al, req->caller, why);
	if (rc < 0)
		text_change_free(&join->change);
	return rc;
}

int atlock_enqueue(struct atlock *al, const struct atlock_request *req, uint64_t *ticket, struct atlock_grant *grant,
		   struct atlock_why *why)
{
	struct join join;
	struct op op;
	int rc;

	memset(&join, 0, sizeof(join));
	rc = join_prepare(al, req, &join, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_ENQUEUE, rc, why);
	op_init(&op, al, req->caller, why);
	op.call = METRICS_ENQUEUE;
	op.request = req;
	op.arg = &join;
	rc = op_run(&op, join_in_txn);
	text_change_free(&join.change);
	if (rc >= 0 && rc != JOIN_TAKEN && ticket != NULL)
		*ticket = join.ticket;
	if (rc == JOIN_TAKEN && grant != NULL)
		*grant = join.grant;
	return rc;
}

int atlock_wait(struct atlock *al, const struct atlock_request *req, atlock_done_fn *done, void *arg, uint64_t *wait,
		struct atlock_grant *out, struct atlock_why *why)
{
	uint64_t number;
	struct join join;
	int64_t began;
	struct op op;
	int rc;

	if (done == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a wait needs somebody to tell");
	memset(&join, 0, sizeof(join));
	rc = join_prepare(al, req, &join, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_WAIT, rc, why);
	began = steady_now();
	number = waits_add(al->waits, req, done, arg);
	if (wait != NULL)
		*wait = number;
	op_init(&op, al, req->caller, why);
	op.request = req;
	op.arg = &join;
	op.wait = number;
	rc = number == 0 ? why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory") : op_run(&op, join_in_txn);
	text_change_free(&join.change);
	if (rc == JOIN_QUEUED)
		return 1;
	if (number != 0)
		(void)waits_remove(al->waits, number);
	if (rc == JOIN_TAKEN && out != NULL)
		*out = join.grant;
	return metrics_count(&al->metrics, METRICS_WAIT, began, rc < 0 ? rc : 0, why);
}
