/*
 * A commit by the script. On a server that is out of memory, parts that take no more of it are let through: a lock must not stay held
 * because it cannot be released.
 */
#ifndef STORE_REDIS_COMMIT_H
#define STORE_REDIS_COMMIT_H

#include "redis_process.h"

/* As the adapter's commit(). `keep`: so many entries of the history, in decimal. */
int redis_commit_send(struct redis_process *process, const char *keep, const struct remote_commit *commit,
		      struct remote_reply *out);

#endif
