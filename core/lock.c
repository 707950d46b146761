#include "lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allow.h"
#include "bound.h"
#include "dir.h"
#include "event.h"
#include "grant.h"
#include "holder.h"
#include "limit.h"
#include "rules.h"
#include "seal.h"
#include "shared.h"
#include "view.h"
#include "why.h"

void lock_from_caller(const struct op *op, struct record_lock *record)
{
	const struct atlock_caller *caller = op->holder != NULL ? op->holder : op->caller;

	record->uid = caller->uid;
	record->gid = caller->gid;
	record->pid = (uint32_t)caller->pid;
	record->boot = op->al->boot;
	record->start = caller->bound_start;
	record->owner = slice_of(caller->owner);
	record->who = slice_of(caller->who);
	record->host = slice_of(op->al->host);
}

int lock_text_parse(const struct atlock_request *req, bool owner, struct text_change *out, struct atlock_why *why)
{
	int rc = text_parse(req->text, req->text_len, out, why);

	if (rc < 0 || ((owner || out->owner[0] == '\0') && out->who[0] == '\0' && out->renew == 0))
		return rc;
	text_change_free(out);
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "owner=, who= and renew= change a lock that is held: take it first, then write them; only "
		       "administrators give owner= with it, and do not wait");
}

static int text_len(struct op *op, const struct record_key *key, size_t *out)
{
	struct slice text = { NULL, 0 };
	int rc = store_get(op->txn, record_key_slice(key), &text);

	*out = rc == 0 ? text.len : 0;
	return rc < 0 ? rc : 0;
}

/* A text that gets longer adds, like anything that is new. */
int lock_text_put(struct op *op, struct slice lock, const struct text_change *change, bool replace)
{
	struct record_key key = record_key_of(TABLE_TEXT, lock);
	size_t before;
	size_t after;
	int rc;

	if (change == NULL || (change->meta_len == 0 && !replace))
		return 0;
	rc = text_len(op, &key, &before);
	if (rc == 0)
		rc = seal_merge(op, &key, (struct slice){ change->meta, change->meta_len }, replace);
	if (rc >= 0)
		rc = text_len(op, &key, &after);
	return rc == 0 && after > before ? rules_room(op) : rc;
}

int lock_take(struct op *op, struct slice lock, int64_t ttl, enum atlock_priority priority,
	      const struct text_change *change, struct record_lock *out)
{
	struct record_lock record = {
		.state = RECORD_ACQUIRED,
		.priority = (uint8_t)priority,
		.mode = (uint16_t)(S_ISREG(op->request->mode) ? op->request->mode & 0777 : 0644),
		.ttl = ttl,
	};
	int rc;

	rc = dir_check(op, lock);
	if (rc == 0)
		rc = allow_action(op, lock, POLICY_ACQUIRE);
	if (rc == 0)
		rc = allow_priority(op, lock, priority);
	if (rc == 0 && op->caller != NULL)
		rc = limit_locks(op, slice_of(op->caller->owner));
	if (rc == 0)
		rc = rules_room(op);
	if (rc < 0)
		return rc;
	lock_from_caller(op, &record);
	rc = shared_guard(op, lock, &record);
	if (rc == 0)
		rc = grant_write(op, lock, NULL, &record);
	if (rc == 0)
		rc = lock_text_put(op, lock, change, false);
	if (rc == 0)
		rc = dir_touch(op, lock);
	/* Nobody waits for a lock that was free, so no cycle can close here. */
	if (rc == 0)
		rc = event_lock(op, ATLOCK_EVENT_ACQUIRED, lock, &record);
	*out = record;
	return rc;
}

/* Takes up a grant that has not been claimed yet, and with `ttl` != 0 starts a new lease. 1. */
static int lock_reenter(struct op *op, struct slice lock, struct record_lock *record, int64_t ttl)
{
	struct record_lock old = *record;
	bool claims = old.state == RECORD_PENDING;
	int rc;

	if (!claims && ttl == 0)
		return 1;
	if (ttl != 0)
		record->ttl = ttl;
	record->state = RECORD_ACQUIRED;
	record->claim_by = 0;
	record->renewed = op->now;
	record->expires = record->ttl == ATLOCK_NEVER ? ATLOCK_NEVER : op->now + record->ttl;
	record->version++;
	rc = record->expires > old.expires ? shared_guard(op, lock, record) : 0;
	if (rc == 0)
		rc = table_lock_put(op, lock, &old, record);
	if (rc == 0)
		rc = event_lock(op, claims ? ATLOCK_EVENT_CLAIMED : ATLOCK_EVENT_RENEWED, lock, record);
	return rc < 0 ? rc : 1;
}

int lock_again(struct op *op, struct slice lock, int64_t ttl, const struct text_change *change,
	       struct record_lock *record)
{
	struct record_lock old = *record;
	int rc;

	rc = ttl != 0 || change->meta_len > 0 ? allow_action(op, lock, POLICY_WRITE) : 0;
	if (rc == 0)
		rc = lock_reenter(op, lock, record, ttl);
	if (rc != 1 || change->meta_len == 0)
		return rc;
	rc = lock_text_put(op, lock, change, false);
	if (rc < 0 || record->version != old.version)
		return rc < 0 ? rc : 1;
	record->version++;
	rc = table_lock_put(op, lock, &old, record);
	if (rc == 0)
		rc = event_lock(op, ATLOCK_EVENT_CHANGED, lock, record);
	return rc < 0 ? rc : 1;
}

int lock_release(struct op *op, struct slice lock, const struct record_lock *record, const struct record_queue *queue,
		 enum atlock_event_type type)
{
	struct record_queue found;
	struct record_lock next;
	int rc;

	rc = event_lock(op, type, lock, record);
	if (rc == 0 && queue == NULL) {
		rc = table_queue_get(op, lock, &found);
		queue = &found;
	}
	if (rc == 0)
		rc = grant_note_hold(op, lock, record, queue->count > 0);
	if (rc == 0)
		rc = grant_next(op, lock, record, queue, &next);
	if (rc == 1)
		rc = dir_touch(op, lock);
	return rc;
}

/* Refuses because another holds the lock; -EEXIST for those who wanted to be the one to make it. */
int lock_refuse_other(struct op *op, struct slice lock, const struct record_lock *record, bool exclusive)
{
	int err = exclusive ? -EEXIST : record->uid == op->caller->uid ? -EBUSY : -EACCES;

	return rules_refuse_held(op, lock, record, err, ATLOCK_LOCK_EXISTS,
				 shared_is(lock) ? "look at its verdict and try again later"
						 : "wait for it below wait/, or queue up below queue/");
}

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
	rc = grant_settle(op, lock, &record);
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
		grant_fill(acquire->out, &record);
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
	return holder_give(manager_users(al), acquire->change.owner, &acquire->holder, why);
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
			      rules_ttl(manager_options(al), req->caller,
					shared_ttl(manager_options(al), req->name, acquire->asked), &acquire->ttl, why),
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
	rc = grant_settle_queue(op, lock, &record, &queue);
	if (rc == 0)
		rc = rules_meant(op, &record);
	if (rc == 1 && op->request->token != 0)
		return rules_refuse_free(op, lock);
	if (rc != 0)
		return rc;
	rc = rules_may_change(op, lock, &record, POLICY_FORCE);
	if (rc == 0)
		rc = rules_version(op, &record);
	/* An open file that is closed cannot keep its lock. */
	if (rc == 0 && rules_is_holder(op, &record, op->caller) && holder_kind(op->caller->who) != HOLDER_FLOCK)
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
	own = rules_is_holder(op, &record, op->caller);
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
