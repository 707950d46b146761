/* Taking a lock and giving it back, as callers see it: waiting for the store, or told of the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allow.h"
#include "bound.h"
#include "grant.h"
#include "holder.h"
#include "limit.h"
#include "lock.h"
#include "rules.h"
#include "shared_guard.h"
#include "view.h"
#include "why.h"

/* --- Acquire --- */

struct acquire {
	const struct atlock_request *req;
	struct text_change change;
	int64_t ttl; /* for a new grant */
	enum atlock_priority priority;
	int64_t asked; /* what the request says, 0 if nothing */
	struct atlock_caller holder;
	struct atlock_grant *out;
};

static int acquire_one(struct op *op, struct acquire *acquire)
{
	struct slice lock = name_slice(acquire->req->name);
	struct record_lock record;
	int rc;

	op->request = acquire->req;
	op->holder = &acquire->holder;
	rc = why_line(op->why, allow_lease(op, lock, acquire->asked), acquire->change.lease_line);
	if (rc < 0)
		return rc;
	rc = expire_lock(op, lock, &record);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		rc = lock_take(op, lock, acquire->ttl, acquire->priority, &acquire->change, &record);
	} else if (record.state == RECORD_DELAYED) {
		rc = rules_refuse_held(op, lock, &record, -EBUSY, ATLOCK_LOCK_EXISTS, "");
	} else if (!rules_is_holder(op, &record, op->holder)) {
		rc = lock_refuse_other(op, lock, &record, op->request->exclusive);
	} else if (op->request->exclusive) {
		rc = rules_refuse_held(op, lock, &record, -EEXIST, ATLOCK_LOCK_EXISTS, "you hold it already");
	} else {
		rc = lock_again(op, lock, acquire->asked == 0 ? 0 : acquire->ttl, &acquire->change, &record);
	}
	if (rc >= 0 && acquire->out != NULL) {
		table_grant_fill(acquire->out, &record);
		acquire->out->again = rc == 1;
	}
	return rc;
}

/*
 * Whom the lock is for. An administrator may take one for another user in the same step: moving in from elsewhere, where
 * users may be that this system does not have.
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

/* Everything that can be refused without looking at the lock. */
static int acquire_prepare(struct atlock *al, const struct atlock_request *req, struct acquire *acquire,
			   struct atlock_grant *out, struct atlock_why *why)
{
	int rc;

	rc = rules_request(req, why);
	if (rc == 0)
		rc = shared_request(req, why);
	if (rc == 0)
		rc = limit_rate(al, req->caller, why);
	if (rc < 0)
		return rc;
	rc = lock_text_parse(req, req->caller->admin, &acquire->change, why);
	if (rc < 0)
		return rc;
	acquire->req = req;
	rc = acquire_holder(al, acquire, why);
	acquire->out = out;
	acquire->priority = acquire->change.priority >= 0 ? (enum atlock_priority)acquire->change.priority
							  : ATLOCK_NORMAL;
	acquire->asked = acquire->change.ttl != 0 ? acquire->change.ttl : req->ttl;
	if (rc == 0)
		rc = why_line(why,
			      rules_ttl(state_options(al), req->caller,
					shared_ttl(state_options(al), req->name, acquire->asked), &acquire->ttl, why),
			      acquire->change.lease_line);
	if (rc == 0)
		rc = bound_watch(al, req->caller, why);
	if (rc < 0)
		text_change_free(&acquire->change);
	return rc;
}

static int acquire_in_txn(struct op *op)
{
	return acquire_one(op, op->arg);
}

int atlock_acquire(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out,
		   struct atlock_why *why)
{
	struct acquire acquire;
	struct op op;
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = acquire_prepare(al, req, &acquire, out, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_ACQUIRE, rc, why);
	op_init(&op, al, req->caller, why);
	op.call = METRICS_ACQUIRE;
	op.arg = &acquire;
	rc = op_run(&op, acquire_in_txn);
	text_change_free(&acquire.change);
	return rc;
}

/* A call that is ended by whoever commits it. */
struct started {
	struct op op; /* first: an operation's end finds the rest by it */
	struct acquire acquire;
	atlock_end_fn *end;
	void *arg;
};

static struct started *started_new(atlock_end_fn *end, void *arg, struct atlock_why *why)
{
	struct started *started = malloc(sizeof(*started));

	if (started == NULL) {
		end(arg, why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory"));
		return NULL;
	}
	started->end = end;
	started->arg = arg;
	return started;
}

static void started_end(struct started *started, int rc)
{
	atlock_end_fn *end = started->end;
	void *arg = started->arg;

	free(started);
	end(arg, rc);
}

static void acquire_end(struct op *op, int rc)
{
	struct started *started = (struct started *)op;

	text_change_free(&started->acquire.change);
	started_end(started, rc);
}

void atlock_acquire_start(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out,
			  struct atlock_why *why, atlock_end_fn *end, void *arg)
{
	struct started *started = started_new(end, arg, why);
	int rc;

	if (started == NULL)
		return;
	rc = acquire_prepare(al, req, &started->acquire, out, why);
	if (rc < 0) {
		started_end(started, metrics_refused(al, METRICS_ACQUIRE, rc, why));
		return;
	}
	op_init(&started->op, al, req->caller, why);
	started->op.call = METRICS_ACQUIRE;
	started->op.arg = &started->acquire;
	op_submit(&started->op, acquire_in_txn, acquire_end);
}

#define ACQUIRE_ALL_MAX 65536 /* nobody else writes meanwhile */

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
	struct op op;
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
		rc = acquire_prepare(al, &reqs[i], &all.each[i], out != NULL ? &out[i] : NULL, why);
		all.count += rc == 0;
	}
	if (rc == 0) {
		op_init(&op, al, reqs[0].caller, why);
		op.call = METRICS_ACQUIRE;
		op.arg = &all;
		rc = op_run(&op, acquire_all_in_txn);
	} else {
		(void)metrics_refused(al, METRICS_ACQUIRE, rc, why);
	}
	for (i = 0; i < all.count; i++)
		text_change_free(&all.each[i].change);
	free(all.each);
	if (rc < 0 && failed != NULL)
		*failed = all.failed;
	return rc;
}

/* --- Release --- */

static int release_in_txn(struct op *op)
{
	struct slice lock = name_slice(op->request->name);
	struct atlock_view *out = op->arg;
	struct record_queue queue;
	struct record_lock record;
	bool own;
	int rc;

	op->call = METRICS_RELEASE;
	rc = expire_lock_queue(op, lock, &record, &queue);
	if (rc == 0)
		rc = rules_meant(op, &record);
	if (rc == 1 && op->request->token != 0)
		return rules_refuse_free(op, lock);
	if (rc != 0)
		return rc;
	rc = rules_may_change(op, lock, &record, POLICY_FORCE);
	if (rc == 0)
		rc = rules_version(op, &record);
	if (rc < 0)
		return rc;
	own = rules_is_holder(op, &record, op->caller);
	/* An open file that is closed cannot keep its lock. */
	if (own && holder_kind(op->caller->who) != HOLDER_FLOCK)
		rc = allow_action(op, lock, POLICY_RELEASE);
	if (rc < 0)
		return rc;
	if (out != NULL) {
		/* The function may run again: what an earlier run left is void. */
		atlock_view_clear(out);
		rc = view_make(op, lock, &record, out);
		if (rc < 0)
			return rc;
		out->state = ATLOCK_RELEASED;
	}
	op->call = own ? METRICS_RELEASE : METRICS_FORCE;
	rc = lock_release(op, lock, &record, &queue, own ? ATLOCK_EVENT_RELEASED : ATLOCK_EVENT_FORCED);
	return rc < 0 ? rc : 0;
}

int atlock_release(struct atlock *al, const struct atlock_request *req, struct atlock_view *out, struct atlock_why *why)
{
	struct op op;
	int rc;

	rc = rules_begin(&op, al, req, METRICS_RELEASE, out, why);
	if (rc < 0)
		return rc;
	if (out != NULL)
		memset(out, 0, sizeof(*out));
	rc = op_run(&op, release_in_txn);
	if (rc < 0 && out != NULL)
		atlock_view_clear(out);
	return rc;
}

static void release_end(struct op *op, int rc)
{
	started_end((struct started *)op, rc);
}

void atlock_release_start(struct atlock *al, const struct atlock_request *req, struct atlock_why *why,
			  atlock_end_fn *end, void *arg)
{
	struct started *started = started_new(end, arg, why);
	int rc;

	if (started == NULL)
		return;
	rc = rules_begin(&started->op, al, req, METRICS_RELEASE, NULL, why);
	if (rc < 0)
		started_end(started, rc);
	else
		op_submit(&started->op, release_in_txn, release_end);
}
