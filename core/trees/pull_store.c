/* Changes of a pull request, each in one transaction. */
#include "pull_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bound.h"
#include "event_log.h"
#include "limit.h"
#include "pull_right.h"
#include "rules.h"
#include "seal.h"
#include "space.h"
#include "why.h"

int pull_load(struct op *op, const struct atlock_pull_name *pull, struct record_pull *out)
{
	struct record_key key = record_key_of(TABLE_PULL, pull_slice(pull));
	int rc = op_get(op, RECORD_PULL, &key, out);

	if (rc == 1)
		*out = (struct record_pull){ .created = op->wall };
	return rc;
}

int pull_project_next(struct op *op, const struct atlock_pull_name *pull, struct record_key *from,
		      struct slice *project, struct record_project *out)
{
	struct record_key prefix = record_key_project(pull_slice(pull), (struct slice){ NULL, 0 });
	struct slice key;
	struct slice value;
	int rc = store_next(op->txn, record_key_slice(from), record_key_slice(&prefix), &key, &value);

	if (rc != 0)
		return rc;
	*from = record_key_after(key);
	*project = (struct slice){ (const char *)key.data + prefix.len, key.len - prefix.len };
	rc = record_decode(RECORD_PROJECT, value, out);
	return rc < 0 ? op_corrupt(op, key, rc) : 0;
}

/* A change of one pull request; `arg` belongs to the function that makes it. */
struct pull_op {
	const struct atlock_pull_name *pull;
	const struct pull_change *change;
	struct slice project;
	enum atlock_project_status status;
	enum atlock_pull_text what;
	size_t released;
	struct record_pull record; /* as it will be */
	bool known;                /* it has a record already */
	bool removes;              /* a removal is not limited */
	bool in_steps;             /* there is too much to close for one transaction: closes a part */
	bool more;                 /* and there may be more */
	struct bound_place place;  /* where this part begins */
	struct bound_place next;   /* where the next one does */
};

static int pull_event(struct op *op, enum atlock_event_type type, const struct atlock_pull_name *pull, const char *part,
		      struct slice project, const char *value)
{
	char text[ATLOCK_PATH_MAX];

	(void)snprintf(text, sizeof(text), "pulls/%s%s%.*s%s", pull->text, part, (int)project.len,
		       project.len > 0 ? (const char *)project.data : "", value);
	return event_other(op, type, text);
}

/* Loads the record. What is changed of it is to be asked of change_all() or project_load(). */
static int change_begin(struct op *op, struct pull_op *change)
{
	int rc = pull_load(op, change->pull, &change->record);

	change->known = rc == 0;
	return rc < 0 ? rc : 0;
}

static struct pull_right change_right(const struct pull_op *change)
{
	return (struct pull_right){ change->pull, change->record.owner, change->known };
}

static int change_all(struct op *op, const struct pull_op *change)
{
	struct pull_right right = change_right(change);

	return pull_may_change(op, &right);
}

static int change_end(struct op *op, struct pull_op *change)
{
	struct record_key key = record_key_of(TABLE_PULL, pull_slice(change->pull));

	change->record.updated = op->wall;
	if (!change->known || (op->caller->pull_user && !op->caller->admin && !change->removes))
		change->record.owner = slice_of(op->caller->owner);
	return op_put(op, RECORD_PULL, &key, &change->record);
}

/* Loads a status that the caller may change: 0, or 1 and an empty one. */
static int project_load(struct op *op, const struct pull_op *change, struct slice project, struct record_project *out)
{
	struct record_key key = record_key_project(pull_slice(change->pull), project);
	struct pull_right right = change_right(change);
	int found = op_get(op, RECORD_PROJECT, &key, out);
	int rc;

	if (found < 0)
		return found;
	if (found == 1)
		*out = (struct record_project){ .owner = { NULL, 0 } };
	rc = pull_may_set(op, &right, project, out->owner);
	return rc < 0 ? rc : found;
}

static int project_event(struct op *op, const struct pull_op *change, struct slice project, const char *word)
{
	char value[40];

	(void)snprintf(value, sizeof(value), "=%s", word);
	return pull_event(op, ATLOCK_EVENT_PULL_STATUS, change->pull, "/projects/", project, value);
}

/*
 * Sets one status. A policy status that the write does not mention stays. An administrator's correction leaves the status with the
 * user who wrote it.
 */
static int project_put(struct op *op, struct pull_op *change, struct slice project, enum atlock_project_status status,
		       const struct slice *policy)
{
	struct record_key key = record_key_project(pull_slice(change->pull), project);
	struct record_project old;
	struct record_project new;
	int rc = project_load(op, change, project, &old);

	if (rc < 0)
		return rc;
	new = (struct record_project){ (uint8_t)status, op->wall, policy != NULL ? *policy : old.policy,
				       rc == 0 && op->caller->admin ? old.owner : slice_of(op->caller->owner) };
	if (rc == 0 && old.status == new.status && slice_equal(old.policy, new.policy))
		return 0;
	if (rc == 1 && change->record.projects == PULL_PROJECTS_MAX)
		return why_set(op->why, -EDQUOT, ATLOCK_QUOTA, "a pull request may have %d projects",
			       PULL_PROJECTS_MAX);
	change->record.projects += rc == 1;
	rc = op_put(op, RECORD_PROJECT, &key, &new);
	return rc < 0 ? rc : project_event(op, change, project, atlock_project_status_name(status));
}

/* Removes all statuses, without an event for each. */
static int projects_drop(struct op *op, struct pull_op *change)
{
	struct record_key prefix = record_key_project(pull_slice(change->pull), (struct slice){ NULL, 0 });
	struct slice key;
	int rc;

	while ((rc = store_next(op->txn, record_key_slice(&prefix), record_key_slice(&prefix), &key, NULL)) == 0) {
		rc = store_del(op->txn, key);
		if (rc < 0)
			return rc;
	}
	change->record.projects = 0;
	return rc < 0 ? rc : 0;
}

/* Sets another head commit. The statuses belong to the commit before, so they are dropped. */
static int head_set(struct op *op, struct pull_op *change, const char *head)
{
	char value[PULL_HEAD_MAX + 8];
	int rc;

	if (slice_equal(change->record.head, slice_of(head)))
		return 0;
	rc = change_all(op, change);
	if (rc == 0)
		rc = projects_drop(op, change);
	change->record.head = slice_of(head);
	(void)snprintf(value, sizeof(value), "/head=%s", head);
	return rc < 0 ? rc
		      : pull_event(op, ATLOCK_EVENT_PULL_CHANGED, change->pull, value, (struct slice){ NULL, 0 }, "");
}

static int meta_set(struct op *op, const struct pull_op *change)
{
	struct record_key key = record_key_of(TABLE_PULL_TEXT, pull_slice(change->pull));
	struct slice lines = { change->change->meta, change->change->meta_len };
	int rc = change_all(op, change);

	if (rc == 0)
		rc = seal_merge(op, &key, lines, change->change->replace);
	return rc < 0 ? rc
		      : pull_event(op, ATLOCK_EVENT_PULL_CHANGED, change->pull, "/meta", (struct slice){ NULL, 0 }, "");
}

static int results_put(struct op *op, struct pull_op *change)
{
	const struct pull_change *text = change->change;
	int rc = 0;

	for (size_t i = 0; i < text->count && rc == 0; i++) {
		const struct pull_result *result = &text->results[i];
		struct slice project;

		rc = pull_project(change->pull, name_slice(&result->lock), &project);
		if (rc == 0)
			rc = project_put(op, change, project, result->status,
					 result->has_policy ? &result->policy : NULL);
	}
	return rc;
}

static int write_in_txn(struct op *op)
{
	struct pull_op *change = op->arg;
	const struct pull_change *text = change->change;
	int rc = space_check(op);

	if (rc == 0)
		rc = change_begin(op, change);
	if (rc == 0 && text->head[0] != '\0')
		rc = head_set(op, change, text->head);
	if (rc == 0 && text->what == ATLOCK_PULL_META)
		rc = meta_set(op, change);
	if (rc == 0)
		rc = results_put(op, change);
	return rc < 0 ? rc : change_end(op, change);
}

static int set_in_txn(struct op *op)
{
	struct pull_op *change = op->arg;
	int rc = space_check(op);

	if (rc == 0)
		rc = change_begin(op, change);
	if (rc == 0)
		rc = project_put(op, change, change->project, change->status, NULL);
	return rc < 0 ? rc : change_end(op, change);
}

static int drop_in_txn(struct op *op)
{
	struct pull_op *change = op->arg;
	struct record_key key = record_key_project(pull_slice(change->pull), change->project);
	struct record_project old;
	int rc = change_begin(op, change);

	if (rc == 0)
		rc = project_load(op, change, change->project, &old);
	if (rc == 0)
		rc = store_del(op->txn, record_key_slice(&key));
	if (rc != 0)
		return rc;
	change->record.projects -= change->record.projects > 0;
	rc = project_event(op, change, change->project, "");
	return rc < 0 ? rc : change_end(op, change);
}

static int clear_in_txn(struct op *op)
{
	struct pull_op *change = op->arg;
	struct record_key meta = record_key_of(TABLE_PULL_TEXT, pull_slice(change->pull));
	static const char *const parts[] = { "/head=", "/meta", "/projects.tsv" };
	int rc = change_begin(op, change);

	if (rc == 0)
		rc = change_all(op, change);
	if (rc < 0 || !change->known)
		return rc;
	if (change->what == ATLOCK_PULL_HEAD)
		change->record.head = (struct slice){ NULL, 0 };
	else if (change->what == ATLOCK_PULL_META)
		rc = store_del(op->txn, record_key_slice(&meta));
	else
		rc = projects_drop(op, change);
	if (rc >= 0)
		rc = pull_event(op, ATLOCK_EVENT_PULL_CHANGED, change->pull, parts[change->what],
				(struct slice){ NULL, 0 }, "");
	return rc < 0 ? rc : change_end(op, change);
}

/*
 * A lock's name has no host, so a pull request of another host would name the same locks. Nothing is known of this one: if the
 * repository's pull request of that number is known at another host, the locks are that one's.
 */
static int refuse_other_host(struct op *op, const struct pull_op *change)
{
	const char *rest = strchr(change->pull->text, '/');
	struct record_key from = record_key_of(TABLE_PULL, (struct slice){ NULL, 0 });
	const struct record_key table = from;
	char other[ATLOCK_PATH_MAX];
	struct slice key;
	int rc;

	while ((rc = store_next(op->txn, record_key_slice(&from), record_key_slice(&table), &key, NULL)) == 0) {
		const char *host = (const char *)key.data + 1;
		const char *end = memchr(host, '/', key.len - 1);
		struct record_pull record;
		struct record_key at;
		int n = end == NULL ? 0 : (int)(end - host);

		if (n == 0 || rest == NULL ||
		    (size_t)snprintf(other, sizeof(other), "%.*s%s", n, host, rest) > STORE_KEY_MAX - 1)
			return 0;
		at = record_key_of(TABLE_PULL, slice_of(other));
		rc = op_get(op, RECORD_PULL, &at, &record);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND,
				       "nothing is known of pulls/%s: its locks are those of pulls/%s, close that one",
				       change->pull->text, other);
		(void)snprintf(other, sizeof(other), "%.*s/", n, host);
		at = record_key_of(TABLE_PULL, slice_of(other));
		from = record_key_after_prefix(record_key_slice(&at));
	}
	return rc < 0 ? rc : 0;
}

/* What every transaction of a close reads first. */
static int close_begin(struct op *op, struct pull_op *change, struct atlock_pull *pull)
{
	int rc = atlock_pull_split(change->pull, pull);

	if (rc == 0)
		rc = change_begin(op, change);
	return rc == 0 ? change_all(op, change) : rc;
}

/* Reads whether the caller may close it, and in how many steps. */
static int close_look(struct op *op)
{
	struct pull_op *change = op->arg;
	struct atlock_pull pull;
	int rc = close_begin(op, change, &pull);

	if (rc == 0 && !change->known)
		rc = refuse_other_host(op, change);
	if (rc == 0)
		rc = bound_may_close_pull(op, pull.repo, pull.num);
	change->in_steps = rc == 1;
	return rc < 0 ? rc : 0;
}

static int record_drop(struct op *op, struct pull_op *change)
{
	struct record_key key = record_key_of(TABLE_PULL, pull_slice(change->pull));
	struct record_key meta = record_key_of(TABLE_PULL_TEXT, pull_slice(change->pull));
	int rc = projects_drop(op, change);

	if (rc == 0)
		rc = store_del(op->txn, record_key_slice(&key));
	if (rc >= 0)
		rc = store_del(op->txn, record_key_slice(&meta));
	return rc < 0 ? rc : pull_event(op, ATLOCK_EVENT_PULL_CLOSED, change->pull, "", (struct slice){ NULL, 0 }, "");
}

/* What was written about it goes with the last part of its locks. */
static int close_in_txn(struct op *op)
{
	struct pull_op *change = op->arg;
	struct atlock_pull pull;
	int rc = close_begin(op, change, &pull);

	change->next = change->place;
	if (rc == 0)
		rc = bound_close_pull(op, pull.repo, pull.num, change->in_steps ? &change->next : NULL,
				      &change->released);
	change->more = rc == 1;
	return rc == 0 && change->known ? record_drop(op, change) : rc;
}

/* What can be refused without the store. */
static int pull_start(struct atlock *al, const struct atlock_caller *caller, const struct pull_op *change,
		      struct atlock_why *why)
{
	int rc;

	if (al == NULL || pull_check(change->pull) < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no pull request given");
	rc = rules_caller(caller, why);
	if (rc == 0 && !change->removes)
		rc = limit_rate(al, caller, why);
	return rc < 0 ? metrics_refused(al, METRICS_PULLS, rc, why) : 0;
}

static int pull_run(struct atlock *al, const struct atlock_caller *caller, struct pull_op *change, op_fn *fn,
		    struct atlock_why *why)
{
	int rc = pull_start(al, caller, change, why);

	if (rc == 0)
		rc = op_catch_up(al, why);
	return rc < 0 ? rc : op_call(al, caller, METRICS_PULLS, fn, change, why);
}

int atlock_pull_write(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      enum atlock_pull_text what, const char *text, size_t len, bool replace, struct atlock_why *why)
{
	struct pull_change parsed;
	struct pull_op change = { .pull = pull, .change = &parsed };
	int rc;

	if (pull_check(pull) < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no pull request given");
	rc = pull_change_parse(pull, what, text, len, &parsed, why);
	parsed.replace = replace;
	if (rc == 0)
		rc = pull_run(al, caller, &change, write_in_txn, why);
	pull_change_free(&parsed);
	return rc;
}

int atlock_pull_clear(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      enum atlock_pull_text what, struct atlock_why *why)
{
	struct pull_op change = { .pull = pull, .what = what, .removes = true };

	if ((unsigned int)what >= ATLOCK_PULL_SUMMARY)
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED, "a summary has nothing to forget");
	return pull_run(al, caller, &change, clear_in_txn, why);
}

/* Checks that a project is one of the pull request's repository. */
static int project_check(const struct atlock_pull_name *pull, const struct atlock_name *project, struct slice *out,
			 struct atlock_why *why)
{
	if (pull_check(pull) < 0 || project == NULL || pull_project(pull, name_slice(project), out) < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no project of this pull request's repository");
	return 0;
}

int atlock_project_set(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		       const struct atlock_name *project, const char *word, size_t len, struct atlock_why *why)
{
	struct pull_op change = { .pull = pull };
	int rc = project_check(pull, project, &change.project, why);

	if (rc == 0)
		rc = pull_status_parse(word, len, "", &change.status, why);
	return rc < 0 ? rc : pull_run(al, caller, &change, set_in_txn, why);
}

int atlock_project_drop(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
			const struct atlock_name *project, struct atlock_why *why)
{
	struct pull_op change = { .pull = pull, .removes = true };
	int rc = project_check(pull, project, &change.project, why);

	return rc < 0 ? rc : pull_run(al, caller, &change, drop_in_txn, why);
}

int atlock_pull_close(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      size_t *released, struct atlock_why *why)
{
	struct pull_op change = { .pull = pull, .removes = true };
	size_t count = 0;
	struct op look;
	int rc = pull_start(al, caller, &change, why);

	if (rc < 0)
		return rc;
	op_init(&look, al, caller, why);
	look.arg = &change;
	rc = op_view(&look, close_look);
	if (rc < 0)
		return metrics_refused(al, METRICS_PULLS, rc, why);
	do {
		rc = op_call(al, caller, METRICS_PULLS, close_in_txn, &change, why);
		count += rc < 0 ? 0 : change.released;
		change.place = change.next;
	} while (rc >= 0 && change.more);
	if (rc >= 0 && released != NULL)
		*released = count;
	return rc < 0 ? rc : 0;
}
