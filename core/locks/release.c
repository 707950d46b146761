/* Releasing a lock: a synchronous call, and one with a completion callback. */
#include <bsd/string.h>
#include <errno.h>

#include "allow.h"
#include "grant.h"
#include "holder.h"
#include "lock_hold.h"
#include "rules.h"
#include "text.h"
#include "userinfo.h"
#include "view.h"
#include "why.h"

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
		rc = rules_meant(op, &record.grant);
	if (rc == 1 && op->request->token != 0)
		return rules_refuse_free(op, lock);
	if (rc != 0)
		return rc;
	rc = rules_may_change(op, lock, &record, POLICY_FORCE);
	if (rc == 0)
		rc = rules_version(op, &record.grant, op->request->version);
	if (rc < 0)
		return rc;
	own = rules_is_holder(op, &record.grant.holder, op->caller);
	/* An open file that is closed cannot keep its lock, whatever the policy says. */
	if (own && holder_kind(op->caller->who) != HOLDER_FLOCK)
		rc = allow_action(op, lock, POLICY_RELEASE);
	if (rc < 0)
		return rc;
	if (out != NULL) {
		/* The function may run again: discard what an earlier run left. */
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

/* Copies a reason without users and passwords of URLs. */
static int reason_copy(const char *reason, char out[ATLOCK_REASON_MAX + 1], struct atlock_why *why)
{
	if (strlcpy(out, reason, ATLOCK_REASON_MAX + 1) > ATLOCK_REASON_MAX || text_bad_byte(out, strlen(out)) != 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "a reason is one line of at most %d bytes without control bytes", ATLOCK_REASON_MAX);
	out[userinfo_strip(out, strlen(out))] = '\0';
	return 0;
}

int atlock_release(struct atlock *al, const struct atlock_request *req, struct atlock_view *out, struct atlock_why *why)
{
	char reason[ATLOCK_REASON_MAX + 1];
	struct atlock_request told;
	struct op op;
	int rc = rules_begin(&op, al, req, METRICS_RELEASE, out, why);

	if (rc == 0 && req->reason != NULL) {
		rc = reason_copy(req->reason, reason, why);
		if (rc < 0)
			(void)metrics_refused(al, METRICS_RELEASE, rc, why);
		told = *req;
		told.reason = reason;
		op.request = &told;
	}
	if (rc < 0)
		return rc;
	if (out != NULL)
		memset(out, 0, sizeof(*out));
	rc = op_run(&op, release_in_txn);
	if (rc < 0 && out != NULL)
		atlock_view_clear(out);
	return rc;
}

void atlock_release_start(struct atlock *al, const struct atlock_request *req, struct atlock_why *why,
			  atlock_end_fn *end, void *arg)
{
	struct op *op = op_new(sizeof(*op), end, arg, why);
	int rc;

	if (op == NULL)
		return;
	rc = rules_begin(op, al, req, METRICS_RELEASE, NULL, why);
	if (rc < 0)
		op_tell_end(op, rc);
	else
		op_submit(op, release_in_txn, op_tell_end);
}
