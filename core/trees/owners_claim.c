/* The first reference to a URL claims it, removing the last one frees it: each in one transaction. */
#include "owners_claim.h"

#include <errno.h>
#include <string.h>

#include "event_log.h"
#include "holder.h"
#include "limit.h"
#include "rules.h"
#include "space.h"
#include "text.h"
#include "why.h"

struct owners_call {
	struct reference_key key;
	bool exclusive;
	bool behalf;             /* a reference to another's URL is that user's */
	struct atlock_caller to; /* owners_give: the new owner */
};

int owners_claim_get(struct op *op, struct slice url, struct record_claim *out)
{
	struct record_key key = record_key_of(TABLE_CLAIM, url);

	return op_get(op, RECORD_CLAIM, &key, out);
}

uint64_t *owners_count(struct record_claim *claim, enum atlock_reference_type type)
{
	return type == ATLOCK_APPLICATIONS ? &claim->applications : &claim->credentials;
}

static int claim_put(struct op *op, struct slice url, const struct record_claim *claim)
{
	struct record_key key = record_key_of(TABLE_CLAIM, url);

	return op_put(op, RECORD_CLAIM, &key, claim);
}

static struct record_key key_of(const struct reference_key *key)
{
	return record_key_reference(key->url, owners_type_byte(key->type), key->id);
}

/* Writes the event of a reference, or with `whole` of the URL itself. */
static int owners_tell(struct op *op, enum atlock_event_type type, const struct reference_key *key, bool whole,
		       struct slice owner)
{
	struct reference_key about = *key;
	char path[OWNERS_PATH_MAX];

	if (whole)
		about.id.len = 0;
	owners_path_print(&about, path);
	return event_owned(op, type, owner, path);
}

static int refuse_owned(struct op *op, const struct reference_key *key, const struct record_claim *claim)
{
	char path[OWNERS_PATH_MAX];
	char since[TEXT_TIME_MAX];
	struct reference_key about = { .url = key->url };

	owners_path_print(&about, path);
	text_time(claim->since + op->wall - op->now, since, sizeof(since));
	return why_set(op->why, -EPERM, ATLOCK_PERMISSION_DENIED,
		       "%s belongs to %.*s since %s (%ju references): ask them or an administrator to remove those",
		       path, (int)claim->owner.len, (const char *)claim->owner.data, since,
		       (uintmax_t)(claim->applications + claim->credentials));
}

/* --- Making --- */

static int reference_put(struct op *op, const struct owners_call *call, const struct record_claim *claim)
{
	struct record_key key = key_of(&call->key);
	struct record_reference reference = {
		.uid = claim->uid,
		.gid = claim->gid,
		.pid = (uint32_t)op->caller->pid,
		.since = op->now,
		.owner = claim->owner,
		.host = slice_of(op->al->host),
	};

	return op_put(op, RECORD_REFERENCE, &key, &reference);
}

/* Whether the caller claims URLs for other users. */
static bool may_claim(const struct atlock_caller *caller)
{
	return caller->admin || caller->owners_user;
}

/* A URL without a claim may have references that lost it: the URL still belongs to their owner. */
static int claim_find(struct op *op, struct slice url, struct record_claim *out)
{
	int rc = owners_claim_get(op, url, out);

	if (rc != 1)
		return rc;
	rc = owners_mend_url(op, url);
	return rc < 0 ? rc : owners_claim_get(op, url, out);
}

static int refer_in_txn(struct op *op)
{
	const struct owners_call *call = op->arg;
	struct record_key key = key_of(&call->key);
	struct record_reference reference;
	struct record_claim claim;
	int found;
	int rc;

	found = claim_find(op, call->key.url, &claim);
	if (found < 0)
		return found;
	if (found == 0 && !slice_equal(claim.owner, slice_of(op->caller->owner)) &&
	    !(call->behalf && may_claim(op->caller)))
		return refuse_owned(op, &call->key, &claim);
	rc = op_get(op, RECORD_REFERENCE, &key, &reference);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return call->exclusive
			       ? why_set(op->why, -EEXIST, ATLOCK_LOCK_EXISTS, "this reference is there already")
			       : 1;
	rc = space_check(op);
	if (rc == 0 && found == 1) {
		claim = (struct record_claim){
			.uid = op->caller->uid,
			.gid = op->caller->gid,
			.since = op->now,
			.owner = slice_of(op->caller->owner),
		};
		rc = owners_tell(op, ATLOCK_EVENT_URL_CLAIMED, &call->key, true, claim.owner);
	}
	++*owners_count(&claim, call->key.type);
	if (rc == 0)
		rc = reference_put(op, call, &claim);
	if (rc == 0)
		rc = claim_put(op, call->key.url, &claim);
	return rc < 0 ? rc : owners_tell(op, ATLOCK_EVENT_REFERENCE_MADE, &call->key, false, claim.owner);
}

/* Checks a call and sets up `op` for it. */
static int owners_begin(struct op *op, struct atlock *al, const struct atlock_owners_path *path,
			const struct atlock_caller *caller, struct owners_call *call, struct atlock_why *why)
{
	int rc;

	if (al == NULL || path == NULL || path->kind != ATLOCK_OWNERS_REFERENCE)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the request names no reference");
	rc = rules_caller(caller, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_OWNERS, rc, why);
	call->key = (struct reference_key){ slice_of(path->url), path->type, slice_of(path->id) };
	op_init(op, al, caller, why);
	op->call = METRICS_OWNERS;
	op->arg = call;
	return 0;
}

static int refer(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		 struct owners_call call, struct atlock_why *why)
{
	struct op op;
	int rc = owners_begin(&op, al, path, caller, &call, why);

	if (rc < 0)
		return rc;
	rc = limit_rate(al, caller, why);
	return rc < 0 ? metrics_refused(al, METRICS_OWNERS, rc, why) : op_run(&op, refer_in_txn);
}

int atlock_refer(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		 bool exclusive, struct atlock_why *why)
{
	return refer(al, path, caller, (struct owners_call){ .exclusive = exclusive }, why);
}

int atlock_refer_behalf(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
			bool exclusive, struct atlock_why *why)
{
	return refer(al, path, caller, (struct owners_call){ .exclusive = exclusive, .behalf = true }, why);
}

/* --- Giving --- */

/* Every reference to a URL is its owner's. */
static int references_give(struct op *op, struct slice url, const struct atlock_caller *to)
{
	struct record_key prefix = record_key_references(url);
	struct record_key from = prefix;
	struct record_reference reference;
	struct slice key;
	struct slice value;
	int rc;

	while ((rc = store_next(op->txn, record_key_slice(&from), record_key_slice(&prefix), &key, &value)) == 0) {
		struct record_key at = { .len = key.len };

		memcpy(at.data, key.data, key.len);
		rc = op_get(op, RECORD_REFERENCE, &at, &reference);
		if (rc != 0)
			return rc < 0 ? rc : -EIO;
		reference.owner = slice_of(to->owner);
		reference.uid = to->uid;
		reference.gid = to->gid;
		rc = op_put(op, RECORD_REFERENCE, &at, &reference);
		if (rc < 0)
			return rc;
		from = record_key_after(record_key_slice(&at));
	}
	return rc < 0 ? rc : 0;
}

static int give_in_txn(struct op *op)
{
	const struct owners_call *call = op->arg;
	struct record_claim claim;
	int rc = claim_find(op, call->key.url, &claim);

	if (rc != 0)
		return rc < 0 ? rc
			      : why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND,
					"the URL has no owner: claim it first");
	if (slice_equal(claim.owner, slice_of(call->to.owner)))
		return 0;
	if (!op->caller->admin && !slice_equal(claim.owner, slice_of(op->caller->owner)))
		return refuse_owned(op, &call->key, &claim);
	claim.owner = slice_of(call->to.owner);
	claim.uid = call->to.uid;
	claim.gid = call->to.gid;
	rc = references_give(op, call->key.url, &call->to);
	if (rc == 0)
		rc = claim_put(op, call->key.url, &claim);
	return rc < 0 ? rc : owners_tell(op, ATLOCK_EVENT_URL_CLAIMED, &call->key, true, claim.owner);
}

int atlock_refer_give(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		      const char *owner, struct atlock_why *why)
{
	struct owners_call call = { .exclusive = false };
	struct op op;
	int rc = owners_begin(&op, al, path, caller, &call, why);

	if (rc < 0)
		return rc;
	if (!may_claim(caller))
		rc = why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			     "only administrators and the members of owners_group claim a URL for another user");
	if (rc == 0 && !holder_text_check(owner, ATLOCK_OWNER_MAX))
		rc = why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "an owner has 1 to %d bytes and no control bytes",
			     ATLOCK_OWNER_MAX);
	if (rc == 0)
		rc = holder_give(al->users, owner, &call.to, why);
	return rc < 0 ? metrics_refused(al, METRICS_OWNERS, rc, why) : op_run(&op, give_in_txn);
}

/* --- Removing --- */

/* The count is only for display; whether a reference is left is read from the store. */
static int claim_drop_one(struct op *op, const struct reference_key *key, struct record_claim *claim)
{
	struct record_key prefix = record_key_references(key->url);
	struct record_key at = record_key_of(TABLE_CLAIM, key->url);
	uint64_t *count = owners_count(claim, key->type);
	struct slice next;
	int rc = store_next(op->txn, record_key_slice(&prefix), record_key_slice(&prefix), &next, NULL);

	if (rc < 0)
		return rc;
	if (rc == 0) {
		*count -= *count > 0;
		return claim_put(op, key->url, claim);
	}
	rc = store_del(op->txn, record_key_slice(&at));
	return rc < 0 ? rc : owners_tell(op, ATLOCK_EVENT_URL_FREED, key, true, claim->owner);
}

static int unrefer_in_txn(struct op *op)
{
	const struct owners_call *call = op->arg;
	struct record_key key = key_of(&call->key);
	struct record_reference reference;
	struct record_claim claim;
	int claimed;
	int rc;

	rc = op_get(op, RECORD_REFERENCE, &key, &reference);
	if (rc != 0)
		return rc < 0 ? rc
			      : why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND,
					"there is no such reference to remove");
	claimed = owners_claim_get(op, call->key.url, &claim);
	if (claimed < 0)
		return claimed;
	if (claimed == 1)
		claim = (struct record_claim){ .since = reference.since, .owner = reference.owner };
	if (!may_claim(op->caller) && !slice_equal(reference.owner, slice_of(op->caller->owner)))
		return refuse_owned(op, &call->key, &claim);
	rc = store_del(op->txn, record_key_slice(&key));
	if (rc == 0)
		rc = owners_tell(op, ATLOCK_EVENT_REFERENCE_REMOVED, &call->key, false, reference.owner);
	return rc < 0 || claimed == 1 ? rc : claim_drop_one(op, &call->key, &claim);
}

int atlock_unrefer(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		   struct atlock_why *why)
{
	struct owners_call call = { .exclusive = false };
	struct op op;
	int rc = owners_begin(&op, al, path, caller, &call, why);

	return rc < 0 ? rc : op_run(&op, unrefer_in_txn);
}
