/*
 * What pull requests and their projects are called. Private to core/.
 *
 * A project is known within its pull request by what its lock's key has after the repository and "/-/".
 */
#ifndef CORE_PULL_NAME_H
#define CORE_PULL_NAME_H

#include "atlock.h"
#include "store.h"

struct slice pull_slice(const struct atlock_pull_name *pull);
struct slice pull_repo(const struct atlock_pull_name *pull);

/* 0 if it can be one. -EINVAL, also for NULL. */
int pull_check(const struct atlock_pull_name *pull);

/* The project's part of a lock's key; -EINVAL unless the lock is in the pull request's repository. */
int pull_project(const struct atlock_pull_name *pull, struct slice lock, struct slice *out);

/* The lock's name of such a part. */
void pull_project_name(const struct atlock_pull_name *pull, struct slice project, struct atlock_name *out);

/* "pr:123" */
void pull_who(const struct atlock_pull_name *pull, char out[32]);

#endif
