/*
 * What the policy in force says about an operation's caller. It is asked inside the transaction, where the state of the lock
 * shows which action this is. op_init() has looked up the caller's groups before, because that may take long. The policy does not
 * bind administrators and the manager itself. Private to core/.
 */
#ifndef CORE_ALLOW_H
#define CORE_ALLOW_H

#include "op.h"

/* 0, or -EACCES if a rule denies the action; `why` names the rule's line. -EIO if a group in a rule cannot be looked up. */
int allow_action(struct op *op, struct slice lock, enum policy_action action);

/* Whether a rule allows the action, for actions that only administrators may do without a rule. */
bool allow_grants(struct op *op, struct slice lock, enum policy_action action);

/* Whether the caller may see the value of another holder's key; false if the policy cannot be evaluated. */
bool allow_reads(struct op *op, struct slice lock, const char *key);

/* 0 if the caller may have this priority. */
int allow_priority(struct op *op, struct slice lock, enum atlock_priority priority);

/* Checks a lease that was asked for: 0, or -EACCES or -EINVAL if it is endless and the caller may not have an endless one. */
int allow_lease(struct op *op, struct slice lock, int64_t asked);

#endif
