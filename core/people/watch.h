/*
 * A set of watched processes, and which of them are gone. One descriptor stands for the whole set.
 *
 *	watch_new(&watch);
 *	watch_add(watch, pid, start);
 *	poll or epoll on watch_fd(watch), then until it returns 1:
 *	watch_reap(watch, &pid, &start);
 *	watch_forget(watch, pid, start);	or later: watch_left() gives it again
 *	watch_free(watch);
 *
 * Each watched process costs a descriptor: raise RLIMIT_NOFILE where thousands are expected. All calls but watch_free()
 * may be made from any thread at any time. Errors are negative errnos.
 */
#ifndef CORE_WATCH_H
#define CORE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct watch;

int watch_new(struct watch **out);

/* Ends the set. NULL is allowed. */
void watch_free(struct watch *watch);

/*
 * Watches the process with this pid and start time (process.h): 0, also if it is watched already. -ESRCH if it is gone;
 * then it is not watched and will not be reaped.
 */
int watch_add(struct watch *watch, pid_t pid, uint64_t start);

/* Whether it is watched; whether none is. */
bool watch_has(struct watch *watch, pid_t pid, uint64_t start);
bool watch_empty(struct watch *watch);

/* Watches it no longer: 0, or 1 if it was not watched. */
int watch_remove(struct watch *watch, pid_t pid, uint64_t start);

/* Readable as long as a watched process is gone and not reaped. Belongs to the set; only poll it. */
int watch_fd(const struct watch *watch);

/*
 * One that is gone: 0, or 1 if there is none. It stays in the set as one that is left, until watch_forget(): what ends with it
 * may have to be tried again.
 */
int watch_reap(struct watch *watch, pid_t *pid, uint64_t *start);

/* watch_add() for something that is written already. One that is gone (-ESRCH) or cannot be watched now is left. */
int watch_bind(struct watch *watch, pid_t pid, uint64_t start);

/*
 * The next that is left and gone, each in its turn: 0, or 1 if there is none. One that lives is watched from now on if it can
 * be, and passed over.
 */
int watch_left(struct watch *watch, pid_t *pid, uint64_t *start);

/* What ended with it has been dealt with. */
void watch_forget(struct watch *watch, pid_t pid, uint64_t start);

/* How many are left. */
size_t watch_left_count(struct watch *watch);

#endif
