/*
 * A set of watched processes, and which of them are gone. One descriptor stands for the whole set.
 *
 *	watch_new(&watch);
 *	watch_add(watch, pid, start);
 *	poll or epoll on watch_fd(watch), then until it returns 1:
 *	watch_reap(watch, &pid, &start);
 *	watch_free(watch);
 *
 * Each watched process costs a descriptor: raise RLIMIT_NOFILE where thousands are expected. All calls but watch_free()
 * may be made from any thread at any time. Errors are negative errnos.
 */
#ifndef CORE_WATCH_H
#define CORE_WATCH_H

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

/* Watches it no longer: 0, or 1 if it was not watched. */
int watch_remove(struct watch *watch, pid_t pid, uint64_t start);

/* Readable as long as a watched process is gone and not reaped. Belongs to the set; only poll it. */
int watch_fd(const struct watch *watch);

/* Takes out one that is gone: 0, or 1 if there is none. */
int watch_reap(struct watch *watch, pid_t *pid, uint64_t *start);

#endif
