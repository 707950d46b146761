/*
 * Who may change what of a pull request. Private to core/.
 *
 * A pull request's record belongs to the user who wrote about it first, and so do its head and meta. The status of a project
 * belongs to the user who wrote it last. Beside them only the holder of that project's own lock may change a status: any user can
 * take some lock as @pr:N, so that one says nothing about the other projects. Administrators and the users of pull_users may change
 * everything, and what one of pull_users writes about becomes that user's.
 */
#ifndef CORE_PULL_RIGHT_H
#define CORE_PULL_RIGHT_H

#include "op.h"
#include "pull_name.h"

/* What a right is asked of. */
struct pull_right {
	const struct atlock_pull_name *pull;
	struct slice owner; /* of the pull request's record; empty: written by an older version */
	bool known;         /* it has a record: while there is none, every user may begin one */
};

/* 0 if the caller may change head and meta, drop all statuses, and close it; else -EACCES. */
int pull_may_change(struct op *op, const struct pull_right *right);

/* 0 if the caller may change the status of `project`, which `writer` wrote (empty: none did); else -EACCES. */
int pull_may_set(struct op *op, const struct pull_right *right, struct slice project, struct slice writer);

#endif
