/*
 * The names of pull requests and their projects. Private to core/.
 *
 * Within its pull request a project is named by the part of its lock's key after the repository and "/-/".
 */
#ifndef CORE_PULL_NAME_H
#define CORE_PULL_NAME_H

#include "atlock.h"
#include "store.h"

struct slice pull_slice(const struct atlock_pull_name *pull);
struct slice pull_repo(const struct atlock_pull_name *pull);

/* 0 if the name is well-formed. -EINVAL, also for NULL. */
int pull_check(const struct atlock_pull_name *pull);

/* The project's part of a lock's key; -EINVAL unless the lock is in the pull request's repository. */
int pull_project(const struct atlock_pull_name *pull, struct slice lock, struct slice *out);

/* The name of a project's lock. */
void pull_project_name(const struct atlock_pull_name *pull, struct slice project, struct atlock_name *out);

/* Prints "pr:123". */
void pull_who(const struct atlock_pull_name *pull, char out[32]);

#endif
