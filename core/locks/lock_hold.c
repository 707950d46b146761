#include "lock_hold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allow.h"
#include "dir_path.h"
#include "ends.h"
#include "event_log.h"
#include "grant.h"
#include "limit.h"
#include "rules.h"
#include "seal.h"
#include "shared_guard.h"
#include "space.h"
#include "why.h"

int lock_text_parse(const struct atlock_request *req, bool owner, struct text_change *out, struct atlock_why *why)
{
	int rc = text_parse(req->text, req->text_len, out, why);

	if (rc < 0 ||
	    ((owner || out->owner[0] == '\0') && out->who[0] == '\0' && out->renew == 0 && out->if_version == 0))
		return rc;
	text_change_free(out);
	rc = why_set(
		why, -EINVAL, ATLOCK_INVALID_REQUEST,
		"owner=, who=, renew= and if_version= are about a lock that is held: take it first, then write them; only "
		"administrators give owner= with it, and do not wait");
	return why_advise(why, rc, ATLOCK_ADVICE_ADMIN);
}

static int text_len(struct op *op, const struct record_key *key, size_t *out)
{
	struct slice text = { NULL, 0 };
	int rc = store_get(op->txn, record_key_slice(key), &text);

	*out = rc == 0 ? text.len : 0;
	return rc < 0 ? rc : 0;
}

/* A text that gets longer needs space, like any new record. */
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
	return rc == 0 && after > before ? space_check(op) : rc;
}

/* Every condition of taking a free lock, in the order in which they are reported. A new shape of lock is a line here. */
static int admit(struct op *op, struct slice lock, const struct record_grant *asked)
{
	int rc;

	rc = dir_check(op, lock);
	if (rc == 0)
		rc = allow_action(op, lock, POLICY_ACQUIRE);
	if (rc == 0)
		rc = allow_priority(op, lock, (enum atlock_priority)asked->priority);
	if (rc == 0 && op->caller != NULL)
		rc = limit_locks(op, slice_of(op->caller->owner));
	if (rc == 0)
		rc = space_check(op);
	return rc == 0 ? shared_guard(op, lock, asked) : rc;
}

int lock_take(struct op *op, struct slice lock, int64_t ttl, enum atlock_priority priority,
	      const struct text_change *change, struct record_lock *out)
{
	struct record_lock record = {
		.mode = (uint16_t)(S_ISREG(op->request->mode) ? op->request->mode & 0777 : 0644),
		.grant = {
			.state = RECORD_ACQUIRED,
			.priority = (uint8_t)priority,
			.ttl = ttl,
			.holder = table_holder(op, op->holder != NULL ? op->holder : op->caller),
		},
	};
	int rc;

	rc = admit(op, lock, &record.grant);
	if (rc == 0)
		rc = grant_write(op, lock, NULL, &record);
	if (rc == 0)
		rc = lock_text_put(op, lock, change, false);
	if (rc == 0)
		rc = dir_touch(op, lock);
	/* A lock that was free has no waiters, so no circle can close here. */
	if (rc == 0)
		rc = event_lock(op, ATLOCK_EVENT_ACQUIRED, lock, &record.grant);
	*out = record;
	return rc;
}

void lock_take_up(struct op *op, struct record_grant *grant)
{
	const struct atlock_caller *taker = op->holder != NULL ? op->holder : op->caller;
	const struct atlock_options *options = op->options;
	int64_t least;

	/* The giver's lease may be about to end: the taker gets no less than for a free lock. */
	if (grant->state == RECORD_PENDING && grant->ticket == 0 &&
	    rules_ttl(options, taker, rules_asked(options, op->request->name, 0), &least, op->why) == 0) {
		if (grant->ttl < least)
			grant->ttl = least;
		if (grant->ttl != ATLOCK_NEVER && grant->ttl > options->max_ttl)
			grant->ttl = options->max_ttl;
	}
	grant_begin_lease(op, grant);
}

/* Claims a pending grant, and with `ttl` != 0 starts a new lease. Returns 1. */
static int lock_reenter(struct op *op, struct slice lock, struct record_lock *record, int64_t ttl)
{
	struct record_grant *grant = &record->grant;
	struct record_lock old = *record;
	bool claims = grant->state == RECORD_PENDING;
	int rc;

	/* In a shared store the caller is told "yes" only with a lease that this host knows. */
	if (!claims && ttl == 0 && table_grant_is_sure(op, grant))
		return 1;
	lock_take_up(op, grant);
	if (ttl != 0) {
		grant->ttl = ttl;
		grant_begin_lease(op, grant);
	}
	grant->version++;
	rc = grant->expires > old.grant.expires ? shared_guard(op, lock, grant) : 0;
	if (rc == 0)
		rc = table_lock_put(op, lock, &old, record);
	if (rc == 0)
		rc = event_lock(op, claims ? ATLOCK_EVENT_CLAIMED : ATLOCK_EVENT_RENEWED, lock, grant);
	return rc < 0 ? rc : 1;
}

int lock_again(struct op *op, struct slice lock, int64_t ttl, const struct text_change *change,
	       struct record_lock *record)
{
	struct record_lock old = *record;
	int rc;

	ends_claim(op, record->grant.token);
	rc = ttl != 0 || change->meta_len > 0 || change->priority >= 0 ? allow_action(op, lock, POLICY_WRITE) : 0;
	if (rc == 0 && change->priority >= 0)
		rc = allow_priority(op, lock, (enum atlock_priority)change->priority);
	if (change->priority >= 0)
		record->grant.priority = (uint8_t)change->priority;
	if (rc == 0)
		rc = lock_reenter(op, lock, record, ttl);
	if (rc != 1 || (change->meta_len == 0 && record->grant.priority == old.grant.priority))
		return rc;
	rc = lock_text_put(op, lock, change, false);
	if (rc < 0 || record->grant.version != old.grant.version)
		return rc < 0 ? rc : 1;
	record->grant.version++;
	rc = table_lock_put(op, lock, &old, record);
	if (rc == 0)
		rc = event_lock(op, ATLOCK_EVENT_CHANGED, lock, &record->grant);
	return rc < 0 ? rc : 1;
}

int lock_release(struct op *op, struct slice lock, const struct record_lock *record, const struct record_queue *queue,
		 enum atlock_event_type type)
{
	struct record_queue found;
	struct record_lock next;
	int rc;

	rc = event_lock(op, type, lock, &record->grant);
	if (rc == 0 && queue == NULL) {
		rc = table_queue_get(op, lock, &found);
		queue = &found;
	}
	if (rc == 0)
		rc = grant_note_hold(op, lock, &record->grant, queue->count > 0);
	if (rc == 0)
		rc = grant_next(op, lock, record, queue, &next);
	if (rc == 1)
		rc = dir_touch(op, lock);
	return rc;
}

/* -EEXIST for a caller that asked to create the lock. */
int lock_refuse_other(struct op *op, struct slice lock, const struct record_lock *record, bool exclusive)
{
	int err = exclusive ? -EEXIST : record->grant.holder.uid == op->caller->uid ? -EBUSY : -EACCES;

	if (shared_is(lock))
		return rules_refuse_held(op, lock, record, err, ATLOCK_LOCK_EXISTS,
					 "look at its verdict and try again later");
	err = rules_refuse_held(op, lock, record, err, ATLOCK_LOCK_EXISTS,
				"wait for it below wait/, or queue up below queue/");
	return why_advise(op->why, err, ATLOCK_ADVICE_WAIT);
}
