/*
 * Decisions about one lock that need only the record, the request and the options: which caller counts as its holder, which
 * caller may change it, how long a lease may be. Each refusal is explained here. Private to core/.
 */
#ifndef CORE_RULES_H
#define CORE_RULES_H

#include "table.h"

/* Whether a record (its owner, who, bound process and boot) is the caller's. */
bool rules_is_holder(const struct op *op, const struct record_holder *holder, const struct atlock_caller *caller);

/* Whether the lock is held by the option disable_apply. */
bool rules_is_disabled(const struct record_holder *holder);

/*
 * 0 if the caller may change the lock: its holder; or an administrator or a caller that the policy allows `by`, if the
 * request's name says who the holder is (or admin_rm=any). -EPERM, -EACCES.
 */
int rules_may_change(struct op *op, struct slice lock, const struct record_lock *record, enum policy_action by);

/* The same for a ticket. */
int rules_may_change_ticket(struct op *op, struct slice lock, const struct record_ticket *record);

/*
 * Whether a record, after expire_lock(), is the lock that the request means: 0, or 1 if the lock is free for this request: it has
 * no holder, or another holder than the who in the name. -ESTALE if it was granted anew since the caller's token.
 */
int rules_meant(struct op *op, const struct record_grant *grant);

/* -EAGAIN unless `version`, if it is not 0, is the lock's. */
int rules_version(struct op *op, const struct record_grant *grant, uint64_t version);

/* The lease that a request gets: its own, the default, or none. -EINVAL. allow_lease() decides whether it may be endless. */
int rules_ttl(const struct atlock_options *options, const struct atlock_caller *caller, int64_t asked, int64_t *ttl,
	      struct atlock_why *why);

/*
 * What a request asks rules_ttl() for: its own lease, or if it has none, what locks of this tree get. A lock of global/ has none
 * unless given one: a freeze that lifted itself would be a trap.
 */
int64_t rules_asked(const struct atlock_options *options, const struct atlock_name *name, int64_t asked);

/* How long a wait may last. -EINVAL. */
int rules_timeout(const struct atlock_options *options, int64_t asked, int64_t *timeout, struct atlock_why *why);

/* -EINVAL for a request without a usable name or caller. */
int rules_request(const struct atlock_request *req, struct atlock_why *why);
int rules_caller(const struct atlock_caller *caller, struct atlock_why *why);

/* Checks the request, then begins an operation on behalf of its caller, as op_init(). The operation is counted as `call`. */
int rules_begin(struct op *op, struct atlock *al, const struct atlock_request *req, enum metrics_call call, void *arg,
		struct atlock_why *why);

/* Refuses because the lock is held (or rests after an expiry); names holder, times, waiters; returns `err`. */
int rules_refuse_held(struct op *op, struct slice lock, const struct record_lock *record, int err,
		      enum atlock_code code, const char *advice);

/* Refuses because the lock is free: -ENOENT, or -ESTALE if the request has a token. */
int rules_refuse_free(struct op *op, struct slice lock);

#endif
