/*
 * What the policy in force says about an operation's caller. It is asked inside the transaction, where the state of the lock
 * shows what is being done; who is in which group was found out before, in op_init(), because that may take long. Administrators
 * and the manager itself are not bound by it. Private to core/.
 */
#ifndef CORE_ALLOW_H
#define CORE_ALLOW_H

#include "op.h"

/* 0 unless a rule denies it: then -EACCES, and why names the rule's line. -EIO if a group that matters cannot be looked up. */
int allow_action(struct op *op, struct slice lock, enum policy_action action);

/* Whether a rule allows it, where others than administrators need one. */
bool allow_grants(struct op *op, struct slice lock, enum policy_action action);

/* Whether the caller may see the value of another holder's key; not if that cannot be told. */
bool allow_reads(struct op *op, struct slice lock, const char *key);

/* 0 if the caller may have this priority. */
int allow_priority(struct op *op, struct slice lock, enum atlock_priority priority);

/* For a lease that was asked for: 0 unless it has no end and the caller must not have such a one. -EACCES, -EINVAL. */
int allow_lease(struct op *op, struct slice lock, int64_t asked);

#endif
