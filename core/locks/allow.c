#include "allow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dir_path.h"
#include "meta.h"
#include "rules.h"
#include "why.h"

/* The verdict, or -EIO. Costs nothing where there is no policy. */
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
	if (rc < 0 || !rules_needs_lease(op->caller) || allow_grants(op, lock, POLICY_NEVER))
		return rc;
	rc = why_set(
		op->why, -EINVAL, ATLOCK_INVALID_REQUEST,
		"a lock without a lease is for administrators, or for holders that something else ends (@pid:, @pr:)");
	return why_advise(op->why, rc, ATLOCK_ADVICE_ADMIN);
}

static int lends_in_txn(struct op *op)
{
	const enum policy_action *action = op->arg;

	return allow_grants(op, name_slice(op->request->name), *action);
}

bool atlock_lends(struct atlock *al, const struct atlock_caller *caller, const char *action,
		  const struct atlock_name *name)
{
	struct atlock_request req = { .name = name, .caller = caller };
	enum policy_action asked;
	const char *key;
	struct op op;

	if (al == NULL || action == NULL || rules_request(&req, NULL) < 0 ||
	    policy_action_parse(action, &asked, &key) < 0)
		return false;
	op_init(&op, al, caller, NULL);
	op.request = &req;
	op.arg = &asked;
	return op.policy != NULL && op_view(&op, lends_in_txn) == 1;
}

/* --- Reading --- */

bool atlock_hides(struct atlock *al)
{
	return al != NULL && policy_hides(state_config(al)->policy);
}

/* Writes one line into `out`, which has room for it; without its value if that is not for the reader. */
static size_t line_show(const struct policy *policy, struct policy_question question, const struct meta_line *line,
			char *out)
{
	char key[META_KEY_MAX + 1] = "";
	const char *value = line->value;
	size_t len = line->value_len;
	int rc;

	if (line->key_len <= META_KEY_MAX)
		memcpy(key, line->key, line->key_len);
	question.key = key;
	rc = policy_decide(policy, &question, NULL);
	/* What cannot be told is not shown. */
	if (rc == POLICY_DENY || rc < 0) {
		value = ATLOCK_HIDDEN;
		len = strlen(ATLOCK_HIDDEN);
	}
	memcpy(out, line->key, line->key_len);
	out[line->key_len] = '=';
	memcpy(out + line->key_len + 1, value, len);
	out[line->key_len + 1 + len] = '\n';
	return line->key_len + len + 2;
}

int atlock_view_hide(struct atlock *al, const struct atlock_caller *reader, const struct atlock_view *view, char **meta,
		     size_t *meta_len)
{
	const struct policy *policy;
	struct policy_user user;
	char path[ATLOCK_PATH_MAX];
	struct policy_question question = { .action = POLICY_READ, .path = path, .user = &user };
	const char *rest;
	size_t left;
	struct meta_line line;
	size_t len = 0;
	char *out;

	if (al == NULL || reader == NULL || view == NULL || view->owner == NULL || meta == NULL || meta_len == NULL)
		return -EINVAL;
	policy = state_config(al)->policy;
	rest = view->meta;
	left = view->meta != NULL ? view->meta_len : 0;
	if (left == 0 || !policy_hides(policy) || reader->admin || strcmp(reader->owner, view->owner) == 0)
		return 1;
	if (atlock_name_show(al, &view->name, path, sizeof(path)) < 0)
		return -EIO;
	policy_user_find(policy, al->users, reader->owner, reader->uid, &user);
	/* Every line is at least "=\n", so that this is room for all of them hidden. */
	out = malloc(left + (left / 2 + 1) * strlen(ATLOCK_HIDDEN));
	if (out == NULL)
		return -ENOMEM;
	while (meta_next(&rest, &left, &line))
		if (line.key != NULL)
			len += line_show(policy, question, &line, out + len);
	*meta = out;
	*meta_len = len;
	return 0;
}
