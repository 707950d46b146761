/*
 * An open file: what it serves to reads, what of its last write is still incomplete, and on whose behalf it acts. Or an open
 * directory, with what it contained.
 *
 * One handle is one open file description: dup and fork share it, and it ends with the last descriptor. As soon as a
 * request is answered the kernel may close the file on another thread, so a request that touches the handle after its reply
 * holds it.
 */
#ifndef HANDLE_H
#define HANDLE_H

#include <bsd/sys/queue.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "fs.h"

struct handles;
struct listing;

struct handle {
	LIST_ENTRY(handle) link; /* handles' mutex */
	struct handles *handles;
	atomic_uint holds;
	int flags;             /* of open(2) */
	pthread_mutex_t mutex; /* orders reads and writes of this open file */
	uint64_t token;        /* the lock's when it was opened; 0: it was free */
	struct atlock_caller
		*caller;             /* who opened it for writing: a descriptor keeps its rights when it is passed on */
	struct atlock_caller *flock; /* mutex; the holder that flock(2) on it is, once it was asked for */
	uint64_t flock_token;        /* mutex; of its grant while it holds the lock; else 0 */
	char *text;                  /* mutex; what reads serve */
	size_t len;
	size_t pos; /* mutex; how far a file without offsets was read */
	char *tail; /* mutex; see write.h */
	size_t tail_len;
	bool tail_applied;
	int refused;             /* mutex; what came of a text whose writer has only heard of its first pieces */
	bool replace;            /* mutex; truncated: the next write replaces instead of merging */
	void *cursor;            /* mutex; the kind's own; freed with free() */
	struct listing *listing; /* of a directory */
};

/* All handles of a mount. Files that are open when the mount ends are never closed: what is left then is freed with it. */
struct handles *handles_new(void);
void handles_free(struct handles *handles);

/* A new one is held once. NULL without memory. */
struct handle *handle_new(struct handles *handles, int flags);
struct handle *handle_hold(struct handle *handle);

/* Ends with the last hold. NULL is allowed. */
void handle_drop(struct handle *handle);

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return fi == NULL ? NULL : (struct handle *)(uintptr_t)fi->fh;
}

bool handle_writes(const struct handle *handle);

/* Keeps a copy of the caller. 0 or -ENOMEM. */
int handle_remember(struct handle *handle, const struct atlock_caller *caller);

#endif
