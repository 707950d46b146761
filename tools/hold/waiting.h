/*
 * Tells people what a command waits for while its own thread blocks in the file system: who holds the lock, since when and
 * why, the place in the queue, the expected wait, and how long it will go on. It is said on standard error when the wait begins
 * and then now and then; on a terminal it is one line that is kept up to date and removed at the end.
 *
 * waiting_begin() starts a thread, waiting_end() ends it. In between the caller must not write to standard error.
 */
#ifndef TOOLS_WAITING_H
#define TOOLS_WAITING_H

#include <pthread.h>

#include "lockpath.h"

struct waiting {
	const struct tool *tool;
	const struct mount *mount;
	int64_t every;        /* how often to say it; 0: once a minute, ATLOCK_NEVER: say nothing */
	const char *priority; /* of the request, or NULL */
	/* Private: */
	const char *path;
	char ticket[2 * ATLOCK_PATH_MAX]; /* of the request, "" where there is none */
	int64_t began;
	int64_t deadline;
	bool over; /* under the mutex */
	bool running;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t thread;
};

/* The caller waits for `path` as "@build-17", "" for its session, or NULL without a place in the queue. */
void waiting_begin(struct waiting *waiting, const char *path, const char *who, int64_t deadline);
void waiting_end(struct waiting *waiting);

#endif
