/* Locks and tickets that end with something else than a lease: a process, a pull request, a manager. Private to core/. */
#ifndef CORE_BOUND_H
#define CORE_BOUND_H

#include "op.h"

/*
 * Watches the process that a "pid:" caller is bound to. Call it before anything is written: a lock whose process cannot be
 * watched would never end.
 */
int bound_watch(struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why);

/* The process is gone: releases the locks of its "pid:" holders and cancels their waits. */
int bound_release(struct atlock *al, pid_t pid, uint64_t start);

/*
 * After an unclean end: drops the tickets of blocked calls that died with the old manager, and the locks and tickets of processes
 * that have gone since; watches the processes that live.
 */
int bound_recover(struct atlock *al);

/*
 * Releases the locks of "pr:<num>" in exactly this repository and cancels its waits there, in the transaction of `op`. -EPERM if
 * one of them belongs to another owner than the caller, unless the caller is an administrator.
 */
int bound_close_pull(struct op *op, const char *repo, uint64_t num, size_t *released);

#endif
