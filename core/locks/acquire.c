#include "acquire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allow.h"
#include "bound.h"
#include "ends.h"
#include "feed.h"
#include "grant.h"
#include "holder.h"
#include "limit.h"
#include "lock_hold.h"
#include "rules.h"
#include "shared_guard.h"
#include "waits.h"
#include "why.h"

/* Explains why a caller that does not join the queue cannot have the lock; with `exclusive`, a second take is refused too. */
static int acquire_refuse(struct op *op, struct slice lock, const struct record_lock *record)
{
	if (record->grant.state == RECORD_DELAYED)
		return rules_refuse_held(op, lock, record, -EBUSY, ATLOCK_LOCK_EXISTS, "");
	if (!rules_is_holder(op, &record->grant.holder, op->holder))
		return lock_refuse_other(op, lock, record, op->request->exclusive);
	return rules_refuse_held(op, lock, record, -EEXIST, ATLOCK_LOCK_EXISTS, "you hold it already");
}

static int acquire_one(struct op *op, struct acquire *acquire)
{
	struct slice lock = name_slice(acquire->req->name);
	bool again = acquire->joins || !acquire->req->exclusive;
	struct record_lock record;
	int rc;

	op->request = acquire->req;
	op->holder = &acquire->holder;
	acquire->ticket = 0;
	acquire->grant.token = 0;
	rc = why_line(op->why, allow_lease(op, lock, acquire->asked), acquire->change.lease_line);
	if (rc < 0)
		return rc;
	rc = expire_lock(op, lock, &record);
	if (rc < 0)
		return rc;
	if (rc == 1)
		rc = lock_take(op, lock, acquire->ttl, acquire->priority, &acquire->change, &record);
	else if (again && record.grant.state != RECORD_DELAYED && rules_is_holder(op, &record.grant.holder, op->holder))
		rc = lock_again(op, lock, acquire->asked == 0 ? 0 : acquire->ttl, &acquire->change, &record);
	else
		return acquire->joins ? queue_join(op, lock, &record, acquire) : acquire_refuse(op, lock, &record);
	table_grant_fill(&acquire->grant, &record.grant);
	acquire->grant.again = rc == ACQUIRE_AGAIN;
	return rc;
}

static int acquire_in_txn(struct op *op)
{
	return acquire_one(op, op->arg);
}

/*
 * Fills in the future holder. An administrator may take a lock for another user in the same step. An import needs that: its users
 * may be unknown to this system.
 */
static int acquire_holder(struct atlock *al, struct acquire *acquire, struct atlock_why *why)
{
	enum holder_kind kind = holder_kind(acquire->req->caller->who);

	acquire->holder = *acquire->req->caller;
	if (acquire->change.owner[0] == '\0')
		return 0;
	if (kind != HOLDER_PLAIN && kind != HOLDER_PULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "owner=%s cannot have a lock of your session or process: name a who, as in NAME@who",
			       acquire->change.owner);
	return holder_give(al->users, acquire->change.owner, &acquire->holder, why);
}

/* Checks everything that can be refused without reading the lock. */
static int acquire_prepare(struct atlock *al, const struct atlock_request *req, bool joins, struct acquire *acquire,
			   struct atlock_why *why)
{
	const struct atlock_options *options = state_options(al);
	const struct text_change *change = &acquire->change;
	int rc;

	acquire->grant.token = 0;
	rc = rules_request(req, why);
	if (rc == 0)
		rc = joins ? shared_refuse_wait(req, why) : shared_request(req, why);
	if (rc == 0)
		rc = limit_rate(al, req->caller, why);
	if (rc == 0)
		rc = lock_text_parse(req, !joins && req->caller->admin, &acquire->change, why);
	if (rc != 0)
		return rc;
	acquire->req = req;
	acquire->joins = joins;
	acquire->priority = joins ? req->priority : ATLOCK_NORMAL;
	if (change->priority >= 0)
		acquire->priority = (enum atlock_priority)change->priority;
	acquire->asked = change->ttl != 0 ? change->ttl : req->ttl;
	rc = acquire_holder(al, acquire, why);
	if (rc == 0)
		rc = why_line(why,
			      rules_ttl(options, req->caller, rules_asked(options, req->name, acquire->asked),
					&acquire->ttl, why),
			      change->lease_line);
	if (rc == 0 && joins)
		rc = rules_timeout(options, change->timeout != 0 ? change->timeout : req->timeout, &acquire->timeout,
				   why);
	if (rc == 0)
		rc = bound_watch(al, req->caller, why);
	if (rc < 0)
		text_change_free(&acquire->change);
	return rc;
}

/* Begins an operation that is counted as `call`: 0, or a refusal that has been counted. */
static int acquire_begin(struct op *op, struct atlock *al, const struct atlock_request *req, enum metrics_call call,
			 struct acquire *acquire, struct atlock_why *why)
{
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = acquire_prepare(al, req, call != METRICS_ACQUIRE, acquire, why);
	if (rc < 0)
		return metrics_refused(al, call, rc, why);
	op_init(op, al, req->caller, why);
	op->call = call;
	op->arg = acquire;
	return 0;
}

/*
 * The answer of a shared store was lost: the caller is told that it failed, so the lock is given back if it was taken. Its state is known once
 * the store answers again.
 */
static void acquire_undo(struct atlock *al, const struct acquire *acquire)
{
	struct atlock_end *end = end_new(acquire->req->name, &acquire->holder);

	if (end == NULL)
		return;
	end->grant.token = acquire->grant.token;
	end->grant.version = acquire->grant.version;
	ends_give_back_later(al, end);
}

/* Ends it: fills `out` if the caller holds the lock now. */
static int acquire_end(struct atlock *al, struct acquire *acquire, int rc, struct atlock_grant *out)
{
	if (rc == -EIO && al->shared && acquire->grant.token != 0 && !acquire->grant.again)
		acquire_undo(al, acquire);
	text_change_free(&acquire->change);
	if ((rc == ACQUIRE_NEW || rc == ACQUIRE_AGAIN) && out != NULL)
		*out = acquire->grant;
	return rc;
}

/* --- At once --- */

int atlock_acquire(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out,
		   struct atlock_why *why)
{
	struct acquire acquire;
	struct op op;
	int rc = acquire_begin(&op, al, req, METRICS_ACQUIRE, &acquire, why);

	return rc < 0 ? rc : acquire_end(al, &acquire, op_run(&op, acquire_in_txn), out);
}

struct started {
	struct op op; /* must be first: cast back to the enclosing struct when the operation ends */
	struct acquire acquire;
	struct atlock_grant *out;
};

static void started_end(struct op *op, int rc)
{
	struct started *started = (struct started *)op;

	op_tell_end(op, acquire_end(op->al, &started->acquire, rc, started->out));
}

void atlock_acquire_start(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out,
			  struct atlock_why *why, atlock_end_fn *end, void *arg)
{
	struct started *started = op_new(sizeof(*started), end, arg, why);
	int rc;

	if (started == NULL)
		return;
	started->out = out;
	rc = acquire_begin(&started->op, al, req, METRICS_ACQUIRE, &started->acquire, why);
	if (rc < 0)
		op_tell_end(&started->op, rc);
	else
		op_submit(&started->op, acquire_in_txn, started_end);
}

#define ACQUIRE_ALL_MAX 65536 /* bounds the transaction: it blocks all other writers */

struct acquire_all {
	struct acquire *each;
	size_t count;
	size_t failed;
};

static int acquire_all_in_txn(struct op *op)
{
	struct acquire_all *all = op->arg;
	int rc = 0;
	size_t i;

	for (i = 0; i < all->count && rc >= 0; i++) {
		all->failed = i;
		op->caller = all->each[i].req->caller;
		rc = acquire_one(op, &all->each[i]);
	}
	return rc < 0 ? rc : 0;
}

int atlock_acquire_all(struct atlock *al, const struct atlock_request *reqs, size_t n, struct atlock_grant *out,
		       size_t *failed, struct atlock_why *why)
{
	struct acquire_all all = { .count = 0 };
	int rc = 0;
	size_t i;

	if (al == NULL || reqs == NULL || n == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no locks given");
	if (n > ACQUIRE_ALL_MAX)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%zu locks are too many at once: at most %d", n,
			       ACQUIRE_ALL_MAX);
	all.each = calloc(n, sizeof(*all.each));
	if (all.each == NULL)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	for (i = 0; i < n && rc == 0; i++) {
		all.failed = i;
		rc = acquire_prepare(al, &reqs[i], false, &all.each[i], why);
		all.count += rc == 0;
	}
	if (rc == 0) {
		rc = op_call(al, reqs[0].caller, METRICS_ACQUIRE, acquire_all_in_txn, &all, why);
	} else {
		(void)metrics_refused(al, METRICS_ACQUIRE, rc, why);
	}
	for (i = 0; i < all.count; i++)
		(void)acquire_end(al, &all.each[i], rc, out != NULL ? &out[i] : NULL);
	free(all.each);
	if (rc < 0 && failed != NULL)
		*failed = all.failed;
	return rc;
}

/* --- With a ticket in the queue --- */

int atlock_enqueue(struct atlock *al, const struct atlock_request *req, uint64_t *ticket, struct atlock_grant *grant,
		   struct atlock_why *why)
{
	struct acquire acquire;
	struct op op;
	int rc = acquire_begin(&op, al, req, METRICS_ENQUEUE, &acquire, why);

	if (rc < 0)
		return rc;
	rc = acquire_end(al, &acquire, op_run(&op, acquire_in_txn), grant);
	if (rc == ACQUIRE_NEW || rc == ACQUIRE_AGAIN)
		return 2;
	if (rc >= 0 && ticket != NULL)
		*ticket = acquire.ticket;
	return rc < 0 ? rc : rc == ACQUIRE_WAITS;
}

int atlock_wait(struct atlock *al, const struct atlock_request *req, atlock_done_fn *done, void *arg, uint64_t *wait,
		struct atlock_grant *out, struct atlock_why *why)
{
	struct acquire acquire;
	int64_t began;
	struct op op;
	int rc;

	if (done == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a wait needs a callback");
	rc = acquire_begin(&op, al, req, METRICS_WAIT, &acquire, why);
	if (rc < 0)
		return rc;
	began = steady_now();
	op.call = METRICS_NONE; /* counted when the wait ends, or below if there is none */
	op.wait = waits_add(al->waits, req, done, arg);
	if (wait != NULL)
		*wait = op.wait;
	rc = op.wait == 0 ? why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory") : op_run(&op, acquire_in_txn);
	rc = acquire_end(al, &acquire, rc, out);
	if (rc == ACQUIRE_QUEUED) {
		if (waits_queued(al->waits, op.wait))
			feed_changed(al, (struct slice){ "", 0 });
		return 1;
	}
	/* The store has settled it meanwhile, and another call has granted it. */
	if (rc == -EIO && al->shared && op.wait != 0 && waits_doubt(al, op.wait) == 1)
		return 1;
	if (op.wait != 0 && !waits_is_doubtful(al->waits, op.wait))
		(void)waits_remove(al->waits, op.wait);
	return metrics_count(&al->metrics, METRICS_WAIT, began, rc < 0 ? rc : 0, why);
}
