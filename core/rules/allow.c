#include "allow.h"

#include <errno.h>

#include "dir_path.h"
#include "holder.h"
#include "why.h"

/* The verdict, or -EIO. Costs nothing without a policy. */
static int allow_ask(struct op *op, struct slice lock, enum policy_action action, char path[ATLOCK_PATH_MAX],
		     size_t *line)
{
	struct policy_question question = { .action = action, .path = path, .user = &op->policy_user };
	int rc;

	*line = 0;
	if (op->policy == NULL)
		return POLICY_SILENT;
	rc = dir_path(op, lock, path, ATLOCK_PATH_MAX);
	return rc < 0 ? rc : policy_decide(op->policy, &question, line);
}

int allow_action(struct op *op, struct slice lock, enum policy_action action)
{
	char path[ATLOCK_PATH_MAX];
	size_t line;
	int rc = allow_ask(op, lock, action, path, &line);

	if (rc == -EIO)
		return why_set(op->why, rc, ATLOCK_BACKEND_ERROR,
			       "the policy hangs on a group that the user data base does not answer about: try again");
	if (rc != POLICY_DENY)
		return rc < 0 ? rc : 0;
	return why_set(op->why, -EACCES, ATLOCK_PERMISSION_DENIED,
		       "line %zu of the policy does not let %s %s %s: ask an administrator", line, op->caller->owner,
		       policy_action_name(action), path);
}

bool allow_grants(struct op *op, struct slice lock, enum policy_action action)
{
	char path[ATLOCK_PATH_MAX];
	size_t line;

	return allow_ask(op, lock, action, path, &line) == POLICY_ALLOW;
}

bool allow_reads(struct op *op, struct slice lock, const char *key)
{
	char path[ATLOCK_PATH_MAX];
	struct policy_question question = { .action = POLICY_READ, .key = key, .path = path, .user = &op->policy_user };
	int rc;

	if (op->policy == NULL || !policy_hides(op->policy))
		return true;
	rc = dir_path(op, lock, path, sizeof(path));
	if (rc >= 0)
		rc = policy_decide(op->policy, &question, NULL);
	return rc >= 0 && rc != POLICY_DENY;
}

int allow_priority(struct op *op, struct slice lock, enum atlock_priority priority)
{
	if (priority == ATLOCK_HIGH)
		return allow_action(op, lock, POLICY_HIGH);
	return priority == ATLOCK_CRITICAL ? allow_action(op, lock, POLICY_CRITICAL) : 0;
}

int allow_lease(struct op *op, struct slice lock, int64_t asked)
{
	int rc;

	if (asked != ATLOCK_NEVER || op->caller == NULL || op->caller->admin)
		return 0;
	rc = allow_action(op, lock, POLICY_NEVER);
	if (rc < 0 || !holder_needs_lease(op->caller) || allow_grants(op, lock, POLICY_NEVER))
		return rc;
	rc = why_set(
		op->why, -EINVAL, ATLOCK_INVALID_REQUEST,
		"a lock without a lease is for administrators, or for holders that something else ends (@pid:, @pr:)");
	return why_advise(op->why, rc, ATLOCK_ADVICE_ADMIN);
}
