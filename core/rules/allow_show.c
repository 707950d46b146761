/* What the policy lets a caller lend, and what it lets a reader see of a lock: functions of atlock.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allow.h"
#include "meta.h"
#include "rules.h"

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

/* Writes one line into `out`, which is large enough; hides the value if the reader may not see it. */
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
	/* A value is hidden if the policy cannot be evaluated. */
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
	/* Every line has at least the two bytes "=\n", so this is enough space if all values are hidden. */
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
