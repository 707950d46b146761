/* Reads one lock for atlock.h: for any reader, or for its holder only. */
#include <errno.h>

#include "lock_hold.h"
#include "refusal.h"
#include "rules.h"
#include "view.h"

struct get {
	const struct atlock_name *name;
	struct atlock_view *out;
	bool unsure; /* it is the holder's that is asked about, but how long is not known here */
};

/* Reads the lock's record if it is held at this instant: 0 or 1. */
static int held_get(struct op *op, struct slice lock, struct record_lock *record)
{
	int rc = table_lock_get(op, lock, record);

	return rc == 0 ? !table_grant_is_held(op, &record->grant) : rc;
}

/* With a caller, the lock must be the caller's; without one, the name may say which holder is meant. */
static int get_in_txn(struct op *op)
{
	struct get *get = op->arg;
	struct slice lock = name_slice(get->name);
	struct record_lock record;
	int rc;

	get->unsure = false;
	rc = held_get(op, lock, &record);
	if (rc != 0)
		return rc;
	if (op->caller != NULL && !rules_is_holder(op, &record.grant.holder, op->caller))
		return lock_refuse_other(op, lock, &record, false);
	if (op->caller == NULL && get->name->who[0] != '\0' &&
	    !slice_equal(record.grant.holder.who, slice_of(get->name->who)))
		return 1;
	/* "Is it still mine" is answered with yes only while no other host can think otherwise. */
	if ((op->caller != NULL || get->name->who[0] != '\0') && !table_grant_is_sure(op, &record.grant)) {
		get->unsure = table_grant_is_unsure(op, &record.grant);
		return 1;
	}
	return get->out != NULL ? view_make(op, lock, &record, get->out) : 0;
}

int atlock_get(struct atlock *al, const struct atlock_name *name, struct atlock_view *out)
{
	struct get get = { .name = name, .out = out };
	int rc;

	if (al == NULL || name_check(name) < 0)
		return -EINVAL;
	rc = op_look(al, get_in_txn, &get, NULL);
	if (out != NULL)
		out->unsure = rc == 1 && get.unsure;
	return rc;
}

static int holds(struct atlock *al, const struct atlock_request *req, struct get *get, struct atlock_why *why)
{
	struct op op;
	int rc;

	rc = rules_begin(&op, al, req, METRICS_NONE, get, why);
	if (rc < 0)
		return rc;
	rc = op_view(&op, get_in_txn);
	refusal_note(&op, rc);
	return rc;
}

int atlock_holds(struct atlock *al, const struct atlock_name *name, const struct atlock_caller *caller,
		 struct atlock_view *out, struct atlock_why *why)
{
	struct atlock_request req = { .name = name, .caller = caller };
	struct get get = { .name = name, .out = out };
	int rc = holds(al, &req, &get, why);

	/* The caller is the holder, and may renew: then it is known. */
	if (rc == 1 && get.unsure && atlock_claim(al, &req, why) == 0)
		rc = holds(al, &req, &get, why);
	return rc;
}
