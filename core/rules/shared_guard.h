/*
 * Shared resources: which apps use one, the status of each app, and whether the resource may be stopped. Private to core/; all of
 * it runs inside an operation's transaction.
 *
 * The lock "shared/<resource>/stop" is a lock like any other, except for a condition. The condition is checked in the transaction
 * that takes the lock, lengthens its lease, or hands it on. In doubt the answer is no.
 */
#ifndef CORE_SHARED_GUARD_H
#define CORE_SHARED_GUARD_H

#include "op.h"

/* Loads a resource, or an app of one: 0 or 1 (none). */
int shared_load(struct op *op, struct slice resource, struct record_shared *out);
int shared_app_load(struct op *op, struct slice resource, struct slice app, struct record_app *out);

/* The first app from `from` on; moves `from` behind it: 0 or 1. Start with record_key_app(resource, ""). */
int shared_app_next(struct op *op, struct slice resource, struct record_key *from, struct slice *app,
		    struct record_app *out);

/* An app's status at this instant: UNKNOWN if it is older than status_ttl. */
enum atlock_app_status shared_status(const struct op *op, const struct record_app *record);

/* Whether the lock is one of a resource, which has a condition. */
bool shared_is(struct slice lock);

/* The key of a resource's lock. */
void shared_lock(struct slice resource, struct atlock_name *out);

/*
 * 0 if the lock may be held as `held` says (who, uid, lease), or belongs to another tree. -EBUSY if another app is not known to
 * be down, -EINVAL if who is no app of the resource or nothing would end the lock, -EACCES if the app belongs to another user.
 */
int shared_guard(struct op *op, struct slice lock, const struct record_grant *held);

/* Checks a request to take a lock, without reading the store: -EINVAL if it does not name the app that stops. */
int shared_request(const struct atlock_request *req, struct atlock_why *why);

/* -EINVAL for a lock with a condition: a condition cannot be waited for. */
int shared_refuse_wait(const struct atlock_request *req, struct atlock_why *why);

/* The lease to ask for: the request's, or a short one for a lock with a condition. 0: the default of other locks. */
int64_t shared_ttl(const struct atlock_options *options, const struct atlock_name *name, int64_t asked);

#endif
