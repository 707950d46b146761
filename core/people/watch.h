/*
 * A set of watched processes, and which of them have exited. One descriptor stands for the whole set.
 *
 *	watch_new(&watch);
 *	watch_add(watch, pid, start);
 *	poll or epoll on watch_fd(watch), then until it returns 1:
 *	watch_reap(watch, &pid, &start);
 *	watch_forget(watch, pid, start);	or later: watch_left() returns it again
 *	watch_free(watch);
 *
 * Each watched process costs a descriptor: raise RLIMIT_NOFILE where thousands are expected. Any thread may make any
 * call but watch_free() at any time. Errors are negative errnos. An entry is "left" if its process has exited or could
 * not be watched, and its end is not dealt with yet.
 */
#ifndef CORE_WATCH_H
#define CORE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct watch;

int watch_new(struct watch **out);

/* NULL is allowed. */
void watch_free(struct watch *watch);

/*
 * Watches the process with this pid and start time (process.h): 0, also if it is watched already. -ESRCH if it has
 * exited; then it is not watched and will not be reaped. -EDQUOT if the user has a quarter of RLIMIT_NOFILE already;
 * WATCH_ANY has no such limit.
 */
#define WATCH_ANY ((uid_t)-1)
int watch_add(struct watch *watch, pid_t pid, uint64_t start, uid_t uid);

/* Whether the process is watched; whether no process is. */
bool watch_has(struct watch *watch, pid_t pid, uint64_t start);
bool watch_empty(struct watch *watch);

/* Readable while a watched process has exited and is not reaped. Belongs to the set; only poll it. */
int watch_fd(const struct watch *watch);

/*
 * Returns a process that has exited: 0, or 1 if there is none. It stays in the set as left until watch_forget(),
 * because ending its locks may have to be retried.
 */
int watch_reap(struct watch *watch, pid_t *pid, uint64_t *start);

/*
 * watch_add() for a holder that is already in the store. A process that has exited (-ESRCH) or cannot be watched now is
 * left.
 */
int watch_bind(struct watch *watch, pid_t pid, uint64_t start);

/*
 * Returns the next left process that has exited, in rotation: 0, or 1 if there is none. Watches those that live, if
 * possible, and skips them.
 */
int watch_left(struct watch *watch, pid_t *pid, uint64_t *start);

/* The end of the process has been dealt with. */
void watch_forget(struct watch *watch, pid_t pid, uint64_t start);

/* Number of left processes. */
size_t watch_left_count(struct watch *watch);

#endif
