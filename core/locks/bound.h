/* Locks and tickets that end with something else than a lease: a process, a pull request, a manager. Private to core/. */
#ifndef CORE_BOUND_H
#define CORE_BOUND_H

#include "op.h"

/* Watches the process a "pid:" caller is bound to before anything is written: what cannot be watched would never end. */
int bound_watch(struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why);

/* The process is gone: releases what "pid:" holders of it have and cancels what they wait for. */
int bound_release(struct atlock *al, pid_t pid, uint64_t start);

/*
 * After an unclean end: drops the tickets of blocked calls that nobody can answer any more, and what processes left that
 * have gone since; watches those that live.
 */
int bound_recover(struct atlock *al);

/*
 * Releases what "pr:<num>" holds in exactly this repository and cancels what it waits for there, in the transaction of `op`.
 * -EPERM if one of them is another owner's than the caller's, who is no administrator.
 */
int bound_close_pull(struct op *op, const char *repo, uint64_t num, size_t *released);

#endif
