#include "pull_right.h"

#include <errno.h>

#include "table.h"
#include "why.h"

static bool is_caller(const struct op *op, struct slice owner)
{
	return slice_equal(owner, slice_of(op->caller->owner));
}

static bool has_all(const struct op *op, const struct pull_right *right)
{
	return !right->known || op->caller->admin || op->caller->pull_user || is_caller(op, right->owner);
}

int pull_may_change(struct op *op, const struct pull_right *right)
{
	struct slice owner = right->owner;

	if (has_all(op, right))
		return 0;
	return why_set(
		op->why, -EACCES, ATLOCK_PERMISSION_DENIED,
		"%.*s wrote about pulls/%s: only that user, pull_users and administrators may change or close it; rm "
		"pulls/%s/locks/* releases the locks that are yours",
		owner.len > 0 ? (int)owner.len : 12, owner.len > 0 ? (const char *)owner.data : "another user",
		right->pull->text, right->pull->text);
}

/* Whether the caller's user holds the project's own lock for the pull request: 1 or 0. */
static int holds_project(struct op *op, const struct pull_right *right, struct slice project)
{
	struct atlock_name name;
	struct record_lock lock;
	char who[32];
	int rc;

	pull_project_name(right->pull, project, &name);
	rc = table_lock_get(op, name_slice(&name), &lock);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	pull_who(right->pull, who);
	return table_grant_is_held(op, &lock.grant) && is_caller(op, lock.grant.holder.owner) &&
	       slice_equal(lock.grant.holder.who, slice_of(who));
}

int pull_may_set(struct op *op, const struct pull_right *right, struct slice project, struct slice writer)
{
	struct slice owner = writer.len > 0 ? writer : right->owner;
	char who[32];
	int rc = has_all(op, right) || (writer.len > 0 && is_caller(op, writer));

	if (rc == 0)
		rc = holds_project(op, right, project);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	pull_who(right->pull, who);
	return why_set(
		op->why, -EACCES, ATLOCK_PERMISSION_DENIED,
		"%.*s wrote about pulls/%s: only that user, the holder of repos/%.*s/-/%.*s@%s, pull_users and administrators "
		"may change the status of that project",
		owner.len > 0 ? (int)owner.len : 12, owner.len > 0 ? (const char *)owner.data : "another user",
		right->pull->text, (int)right->pull->repo_len, (const char *)pull_repo(right->pull).data,
		(int)project.len, (const char *)project.data, who);
}
