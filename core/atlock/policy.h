/*
 * The policy: a file of rules that say who may do what; what it decides, and what it hides.
 *
 * The manager enforces the file of the option `policy` by itself; atlock_reload() (options.h) reads it again. This page asks
 * what rules say: those of any file, without a manager, or those in force.
 *
 * Calling sequence
 *
 *	atlock_policy_load("/etc/atlockfs/policy", &policy, &why);
 *	atlock_policy_test(policy, "alice", "acquire", "repos/acme/infra/-/modules/vpc/-/production", &answer, &why);
 *	atlock_policy_free(policy);
 */
#ifndef ATLOCK_POLICY_H
#define ATLOCK_POLICY_H

#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/lock.h"
#include "atlock/name.h"

/* --- A file of rules --- */

/* Loaded rules. They do not change after that: any thread may test them. */
struct atlock_policy;

enum atlock_policy_verdict { ATLOCK_POLICY_SILENT, ATLOCK_POLICY_ALLOWS, ATLOCK_POLICY_DENIES };

struct atlock_policy_answer {
	enum atlock_policy_verdict verdict; /* SILENT: as where there is no policy */
	size_t line;                        /* of the rule that decides; 0: no rule does */
	char rule[ATLOCK_PATH_MAX];         /* its text */
};

/* Reads a file, whose path begins with '/'. `*out` is the caller's. -EINVAL: `why` has the line that is wrong. */
int atlock_policy_load(const char *file, struct atlock_policy **out, struct atlock_why *why);

/* NULL is allowed. */
void atlock_policy_free(struct atlock_policy *policy);

/* Which rule decides for a user of this system, an action ("acquire", "read=key") and a lock's path. -ENOENT: no such user. */
int atlock_policy_test(struct atlock_policy *policy, const char *user, const char *action, const char *lock,
		       struct atlock_policy_answer *out, struct atlock_why *why);

/* --- The rules in force --- */

/* Whether a rule lends the caller a right of administrators on this lock: "transfer", "force" or "ttl=never". */
bool atlock_lends(struct atlock *al, const struct atlock_caller *caller, const char *action,
		  const struct atlock_name *name);

/* Whether the policy hides any value from any user, so that two users may read different texts. */
bool atlock_hides(struct atlock *al);

#define ATLOCK_HIDDEN "[hidden]" /* replaces a value that the reader may not see */

/*
 * The view's own keys as `reader` may see them. 0: `*meta` is a malloc'ed copy, hidden values replaced. 1: the reader may see all as it
 * is, as administrators and the lock's owner may.
 */
int atlock_view_hide(struct atlock *al, const struct atlock_caller *reader, const struct atlock_view *view, char **meta,
		     size_t *meta_len);

#endif
