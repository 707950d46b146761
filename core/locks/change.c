/* What a holder can do to a lock it has: renew, write, transfer, claim, chmod. */
#include <errno.h>
#include <string.h>

#include "allow.h"
#include "deadlock.h"
#include "event_log.h"
#include "grant.h"
#include "holder.h"
#include "limit.h"
#include "lock_hold.h"
#include "rules.h"
#include "shared_guard.h"
#include "space.h"
#include "users.h"
#include "why.h"

struct change {
	struct slice lock;
	struct record_lock old;
	struct record_lock new;
	const struct atlock_caller *to;
	const struct text_change *text;
	mode_t mode;
	gid_t gid;
	struct atlock_grant *out;
};

/*
 * Loads a lock and checks that the caller may change it, by holder and by policy (POLICY_ACTIONS skips the policy). Every change
 * by the holder also claims a pending grant.
 */
static int change_begin(struct op *op, struct change *change, enum policy_action action)
{
	const struct record_grant *old = &change->old.grant;
	int rc;

	change->lock = name_slice(op->request->name);
	rc = expire_lock(op, change->lock, &change->old);
	if (rc == 0)
		rc = rules_meant(op, old);
	if (rc == 1)
		return rules_refuse_free(op, change->lock);
	if (rc == 0)
		rc = rules_may_change(op, change->lock, &change->old,
				      action == POLICY_TRANSFER ? POLICY_TRANSFER : POLICY_FORCE);
	if (rc == 0 && action != POLICY_ACTIONS)
		rc = allow_action(op, change->lock, action);
	if (rc == 0)
		rc = rules_version(op, old, op->request->version);
	change->new = change->old;
	if (rc == 0 && old->state == RECORD_PENDING && rules_is_holder(op, &old->holder, op->caller))
		lock_take_up(op, &change->new.grant);
	return rc;
}

static int change_end(struct op *op, struct change *change, enum atlock_event_type type)
{
	int rc;

	change->new.grant.version++;
	rc = table_lock_put(op, change->lock, &change->old, &change->new);
	if (rc == 0)
		rc = type == ATLOCK_EVENT_TRANSFERRED
			     ? event_transferred(op, change->lock, &change->old.grant, &change->new.grant)
			     : event_lock(op, type, change->lock, &change->new.grant);
	if (rc == 0 && change->out != NULL)
		table_grant_fill(change->out, &change->new.grant);
	return rc;
}

static int change_run(struct atlock *al, const struct atlock_request *req, enum metrics_call call,
		      struct change *change, op_fn *fn, struct atlock_why *why)
{
	struct op op;
	int rc;

	rc = rules_begin(&op, al, req, call, change, why);
	if (rc < 0)
		return rc;
	/* Claiming a grant is not rate-limited. */
	rc = call == METRICS_CLAIM ? 0 : limit_rate(al, req->caller, why);
	return rc < 0 ? metrics_refused(al, call, rc, why) : op_run(&op, fn);
}

/* Sets a new lease for `record`: from now, or with `add` on top of the time left. */
static int lease_set(struct op *op, struct record_grant *grant, int64_t ttl, bool add)
{
	int64_t lease = ttl != 0 ? ttl : grant->ttl;
	int64_t checked;
	int rc;

	if (add && ttl <= 0)
		return why_set(op->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "a lease can only be extended by more than nothing");
	grant->renewed = op->now;
	if (grant->ttl == ATLOCK_NEVER && (add || ttl == 0))
		return 0;
	/* Both the step and the sum must be within max_ttl. The step is checked first, so that the sum cannot overflow. */
	rc = ttl != 0 ? rules_ttl(op->options, op->caller, ttl, &checked, op->why) : 0;
	if (rc < 0)
		return rc;
	if (add && ttl != ATLOCK_NEVER) {
		rc = rules_ttl(op->options, op->caller, grant->expires + ttl - op->now, &checked, op->why);
		if (rc < 0)
			return rc;
		grant->ttl += ttl;
		grant->expires += ttl;
		return 0;
	}
	/* After several extensions, or if max_ttl was larger before, the lease may be longer than max_ttl allows now. */
	if (lease != ATLOCK_NEVER && lease > op->options->max_ttl)
		lease = op->options->max_ttl;
	grant->ttl = lease;
	grant->expires = lease == ATLOCK_NEVER ? ATLOCK_NEVER : op->now + lease;
	return 0;
}

/*
 * The same for the lock being changed. A longer lease needs the lock's condition to be true, if it has one; a shorter one does
 * not.
 */
static int change_lease(struct op *op, struct change *change, int64_t ttl, bool add)
{
	int rc = allow_lease(op, change->lock, ttl);

	if (rc == 0)
		rc = lease_set(op, &change->new.grant, ttl, add);
	if (rc == 0 && change->new.grant.expires > change->old.grant.expires)
		rc = shared_guard(op, change->lock, &change->new.grant);
	return rc;
}

static int renew_in_txn(struct op *op)
{
	struct change *change = op->arg;
	int rc = change_begin(op, change, POLICY_WRITE);

	if (rc == 0)
		rc = change_lease(op, change, op->request->ttl, op->request->add);
	if (rc == 0) {
		change->new.grant.state = RECORD_ACQUIRED;
		change->new.grant.claim_by = 0;
		rc = change_end(op, change, ATLOCK_EVENT_RENEWED);
	}
	return rc;
}

int atlock_renew(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out, struct atlock_why *why)
{
	struct change change = { .out = out };

	return change_run(al, req, METRICS_RENEW, &change, renew_in_txn, why);
}

/*
 * The lock is another user's now. It is pending until that user takes it up: what the giver set counts no longer than the giver's lease,
 * and a lock without one must be taken up within default_ttl.
 */
static int gift_set(struct op *op, struct record_grant *new)
{
	new->state = RECORD_PENDING;
	new->ticket = 0;
	new->claim_by = new->expires;
	if (new->expires == ATLOCK_NEVER && !op->caller->admin)
		new->claim_by = op->now + op->options->default_ttl;
	return limit_gifts(op, new->holder.owner);
}

/* Makes `to` the holder. If it waits for this lock, its ticket has what it waited for, as it asked for it. */
static int holder_set(struct op *op, struct change *change, const struct atlock_caller *to)
{
	const struct record_holder *from = &change->old.grant.holder;
	struct record_grant *new = &change->new.grant;
	int rc;

	new->holder = table_holder(op, to);
	new->holder.host = from->host;
	/* A session that keeps the lock under another owner is the same session: keep its start. */
	if (to->bound_start == 0 && slice_equal(new->holder.who, from->who))
		new->holder.start = from->start;
	new->state = RECORD_ACQUIRED;
	new->claim_by = 0;
	new->wait = 0;
	/* The process or file that would have ended the lock does so no longer, so a lease must. */
	if (new->ttl == ATLOCK_NEVER && !op->caller->admin && holder_needs_lease(to) &&
	    atlock_name_tree(op->request->name) != ATLOCK_GLOBAL) {
		new->ttl = op->options->default_ttl;
		new->expires = op->now + new->ttl;
	}
	rc = grant_to_ticket_of(op, change->lock, &change->new);
	if (rc == 1)
		rc = slice_equal(new->holder.owner, from->owner) ? 0 : gift_set(op, new);
	if (rc == 0)
		rc = shared_guard(op, change->lock, new);
	if (rc == 0)
		op_bound(op, new->holder.who, new->holder.start);
	return rc;
}

static int transfer_in_txn(struct op *op)
{
	struct change *change = op->arg;
	int rc = change_begin(op, change, POLICY_TRANSFER);

	if (rc < 0)
		return rc;
	if (rules_is_holder(op, &change->old.grant.holder, change->to))
		return 0;
	rc = holder_set(op, change, change->to);
	if (rc == 0)
		rc = change_end(op, change, ATLOCK_EVENT_TRANSFERRED);
	if (rc == 0)
		rc = deadlock_refuse(op, change->lock, &change->new.grant.holder);
	return rc;
}

int atlock_transfer(struct atlock *al, const struct atlock_request *req, const struct atlock_caller *to,
		    struct atlock_why *why)
{
	struct change change = { .to = to };
	int rc = rules_caller(to, why);

	if (rc < 0)
		return metrics_refused(al, METRICS_TRANSFER, rc, why);
	return change_run(al, req, METRICS_TRANSFER, &change, transfer_in_txn, why);
}

/* owner= or who= alone keeps the other one, unless nothing would end the lock of the resulting holder. */
static int write_holder(struct op *op, struct change *change)
{
	const struct text_change *text = change->text;
	struct atlock_caller to = *change->to;
	const struct record_holder *from = &change->old.grant.holder;
	enum holder_kind kind;
	int rc;

	if (text->owner[0] == '\0') {
		memcpy(to.owner, from->owner.data, from->owner.len);
		to.owner[from->owner.len] = '\0';
		to.uid = from->uid;
		to.gid = from->gid;
	}
	if (text->who[0] == '\0') {
		memcpy(to.who, from->who.data, from->who.len);
		to.who[from->who.len] = '\0';
	}
	if (rules_is_holder(op, from, &to))
		return change_end(op, change, ATLOCK_EVENT_CHANGED);
	kind = holder_kind(to.who);
	if (kind == HOLDER_PROCESS || kind == HOLDER_FLOCK || kind == HOLDER_SESSION)
		return why_advise(
			op->why,
			why_set(op->why, -EINVAL, ATLOCK_INVALID_REQUEST,
				"a session, process or open file of its owner's holds the lock: give who= as well"),
			ATLOCK_ADVICE_WHO);
	rc = holder_set(op, change, &to);
	if (rc == 0)
		rc = change_end(op, change, ATLOCK_EVENT_TRANSFERRED);
	if (rc == 0)
		rc = deadlock_refuse(op, change->lock, &change->new.grant.holder);
	return rc;
}

static int write_in_txn(struct op *op)
{
	struct change *change = op->arg;
	const struct text_change *text = change->text;
	int rc = change_begin(op, change, change->to != NULL ? POLICY_TRANSFER : POLICY_WRITE);

	if (rc == 0)
		rc = rules_version(op, &change->old.grant, text->if_version);
	if (rc == 0 && (text->ttl != 0 || text->renew != 0))
		rc = why_line(op->why,
			      change_lease(op, change, text->ttl != 0 ? text->ttl : text->renew, text->renew != 0),
			      text->lease_line);
	if (rc == 0)
		rc = lock_text_put(op, change->lock, text, op->request->replace);
	if (rc < 0)
		return rc;
	if (text->priority >= 0) {
		rc = allow_priority(op, change->lock, (enum atlock_priority)text->priority);
		if (rc < 0)
			return rc;
		change->new.grant.priority = (uint8_t)text->priority;
	}
	/* A lease alone is a renewal, which must succeed even when there is no space for its event. */
	bool lease = text->meta_len == 0 && !op->request->replace && text->priority < 0;
	if (change->to == NULL && lease && space_is_scarce(op))
		return change_end(op, change, ATLOCK_EVENT_RENEWED);
	return change->to != NULL ? write_holder(op, change) : change_end(op, change, ATLOCK_EVENT_CHANGED);
}

/* Reads the holder that owner= and who= name. A process or session cannot get a lock by name: nothing would end the lock. */
static int write_target(struct atlock *al, const struct text_change *text, struct atlock_caller *to,
			struct atlock_why *why)
{
	int rc;

	memset(to, 0, sizeof(*to));
	if (text->who[0] != '\0') {
		enum holder_kind kind = holder_kind(text->who);

		if (kind != HOLDER_PLAIN && kind != HOLDER_PULL)
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
				       "who=%s cannot be set: use a plain name or pr:N", text->who);
		memcpy(to->who, text->who, sizeof(to->who));
	}
	if (text->owner[0] == '\0')
		return 0;
	memcpy(to->owner, text->owner, sizeof(to->owner));
	rc = users_find(al->users, text->owner, &to->uid, &to->gid);
	if (rc == 1)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "there is no user %s", text->owner);
	return rc < 0 ? why_set(why, rc, ATLOCK_BACKEND_ERROR, "the user data base does not answer: try again") : 0;
}

int atlock_write(struct atlock *al, const struct atlock_request *req, struct atlock_why *why)
{
	struct change change = { .to = NULL };
	struct text_change text = { .ttl = 0 };
	struct atlock_caller to;
	int rc;

	if (al == NULL || req == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager or request given");
	rc = rules_request(req, why);
	if (rc == 0)
		rc = text_parse(req->text, req->text_len, &text, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_WRITE, rc, why);
	if (text.owner[0] != '\0' || text.who[0] != '\0') {
		rc = write_target(al, &text, &to, why);
		change.to = &to;
	}
	change.text = &text;
	if (rc == 0)
		rc = change_run(al, req, METRICS_WRITE, &change, write_in_txn, why);
	else
		(void)metrics_refused(al, METRICS_WRITE, rc, why);
	text_change_free(&text);
	return rc;
}

static int chmod_in_txn(struct op *op)
{
	struct change *change = op->arg;
	int rc = change_begin(op, change, POLICY_WRITE);

	if (rc < 0)
		return rc;
	change->new.mode = (uint16_t)change->mode;
	return change_end(op, change, ATLOCK_EVENT_CHANGED);
}

int atlock_chmod(struct atlock *al, const struct atlock_request *req, mode_t mode, struct atlock_why *why)
{
	struct change change = { .mode = mode };

	if (mode & ~(mode_t)0777)
		return metrics_refused(al, METRICS_CHMOD,
				       why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a lock has permission bits only"),
				       why);
	return change_run(al, req, METRICS_CHMOD, &change, chmod_in_txn, why);
}

static int chgrp_in_txn(struct op *op)
{
	struct change *change = op->arg;
	int rc = change_begin(op, change, POLICY_WRITE);

	if (rc < 0)
		return rc;
	change->new.grant.holder.gid = change->gid;
	return change_end(op, change, ATLOCK_EVENT_CHANGED);
}

int atlock_chgrp(struct atlock *al, const struct atlock_request *req, gid_t gid, struct atlock_why *why)
{
	struct change change = { .gid = gid };

	return change_run(al, req, METRICS_CHMOD, &change, chgrp_in_txn, why);
}

static int claim_in_txn(struct op *op)
{
	struct change *change = op->arg;
	const struct record_grant *old = &change->old.grant;
	int rc = change_begin(op, change, POLICY_ACTIONS);

	if (rc < 0)
		return rc;
	if (!rules_is_holder(op, &old->holder, op->caller))
		return 1;
	if (old->state == RECORD_PENDING)
		return change_end(op, change, ATLOCK_EVENT_CLAIMED);
	if (!table_grant_is_unsure(op, old))
		return 1;
	/* No other host has taken it, or this commit fails: so the holder still has it, and its lease begins anew. */
	grant_begin_lease(op, &change->new.grant);
	return change_end(op, change, ATLOCK_EVENT_RENEWED);
}

int atlock_claim(struct atlock *al, const struct atlock_request *req, struct atlock_why *why)
{
	struct change change = { .out = NULL };

	return change_run(al, req, METRICS_CLAIM, &change, claim_in_txn, why);
}
