/*
 * Shared resources: which apps use one, what each says of itself, and whether the resource may be stopped. Private to core/;
 * all of it runs inside an operation's transaction.
 *
 * The lock "shared/<resource>/stop" is a lock like any other, but for a condition that is looked at in the transaction that
 * takes it, gives it a longer lease, or hands it on. In doubt the answer is no.
 */
#ifndef CORE_SHARED_GUARD_H
#define CORE_SHARED_GUARD_H

#include "op.h"

/* A resource, or an app of one: 0 or 1 (none). */
int shared_load(struct op *op, struct slice resource, struct record_shared *out);
int shared_app_load(struct op *op, struct slice resource, struct slice app, struct record_app *out);

/* The first app from `from` on, which is moved behind it: 0 or 1. Start with record_key_app(resource, ""). */
int shared_app_next(struct op *op, struct slice resource, struct record_key *from, struct slice *app,
		    struct record_app *out);

/* What an app's status counts as at this instant: what is older than status_ttl is UNKNOWN. */
enum atlock_app_status shared_status(const struct op *op, const struct record_app *record);

/* Whether a lock is one of a resource's, which has a condition. */
bool shared_is(struct slice lock);

/* The key of a resource's lock. */
void shared_lock(struct slice resource, struct atlock_name *out);

/*
 * 0 if the lock may be held as `held` says (who, uid, lease), or is of another tree. -EBUSY if another app is not known to be
 * down, -EINVAL if who is no app of the resource or nothing would end the lock, -EACCES if the app is another user's.
 */
int shared_guard(struct op *op, struct slice lock, const struct record_lock *held);

/* What can be said about a request to take a lock without looking: -EINVAL if it does not name the app that stops. */
int shared_request(const struct atlock_request *req, struct atlock_why *why);

/* -EINVAL for a lock that has a condition: conditions are never waited for. */
int shared_refuse_wait(const struct atlock_request *req, struct atlock_why *why);

/* The lease to ask for: the request's, or for a lock with a condition a short one. 0: the default of other locks. */
int64_t shared_ttl(const struct atlock_options *options, const struct atlock_name *name, int64_t asked);

#endif
