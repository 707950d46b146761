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

/* --- Closing a pull request: its locks and waits are those of "pr:<num>" in exactly this repository --- */

#define BOUND_AT_ONCE 1024       /* locks and waits that end in one transaction; more end in several */
#define BOUND_AT_ONCE_SHARED 128 /* the same in a store whose steps have a limit */

/* Where ending many goes on in the next transaction; all zero: at the beginning. */
struct bound_place {
	size_t table;
	char owner[256];
	uint64_t number;
};

/*
 * Reads whether the caller may end them all: -EPERM if one belongs to another owner, unless the caller is an administrator. 1 if
 * they are too many for one transaction, or too many others are to be read on the way.
 */
int bound_may_close_pull(struct op *op, const char *repo, uint64_t num);

/*
 * Releases the locks and cancels the waits in the transaction of `op`; errors as above. With `place` it ends a part of them only:
 * 1 if there may be more. `released` gets the number of locks.
 */
int bound_close_pull(struct op *op, const char *repo, uint64_t num, struct bound_place *place, size_t *released);

#endif
