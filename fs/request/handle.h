/*
 * An open file: what it serves to reads, what of its last write is still incomplete, and on whose behalf it acts. Or an open
 * directory, with what it contained.
 *
 * One handle is one open file description: dup and fork share it, and it ends with the last descriptor. As soon as a
 * request is answered the kernel may close the file on another thread, so a request that touches the handle after its reply
 * holds it.
 *
 * Thousands may wait for locks, each in its first read of an open file. So a handle is small, and its content is made by
 * the first call that needs it.
 */
#ifndef HANDLE_H
#define HANDLE_H

#include <bsd/sys/queue.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "fs.h"

struct content;
struct flocked;
struct handles;
struct listing;
struct texts;

struct handle {
	LIST_ENTRY(handle) link; /* handles' mutex */
	struct fs *fs;
	atomic_uint holds;
	int flags; /* of open(2) */
	uid_t uid; /* of who opened it, as the next two; see caller_opened() */
	gid_t gid;
	pid_t pid;
	uint32_t slot;          /* of its number */
	uint32_t ino;           /* the lower half of the inode's number: there may be many thousands of handles */
	_Atomic uint64_t token; /* the lock's when it was opened; 0: it was free */
	_Atomic(struct content *) content; /* NULL: nobody needed it yet */
	_Atomic(struct flocked *) flocked; /* lock_flock.c's, once flock(2) was called */
};

struct content {
	struct atlock_caller
		*caller;         /* who opened it for writing: a descriptor keeps its rights when it is passed on */
	struct listing *listing; /* of a directory */
	pthread_mutex_t mutex;   /* orders reads and writes of this open file, and protects what follows */
	char *text;              /* what reads serve */
	size_t len;
	struct timespec made; /* when; see ops_file.c, as the next two */
	bool sized;           /* its length was told, and it has not been read */
	bool done;            /* it was read to its end */
	size_t pos;           /* how far a file without offsets was read */
	char *tail;           /* see lock_write.c */
	size_t tail_len;
	void *cursor; /* the kind's own; freed with free() */
	int refused;  /* what came of a text whose writer has only heard of its first pieces */
	bool tail_applied;
	bool replace;        /* truncated: the next write replaces instead of merging */
	bool paged;          /* the kernel has pages of the text */
	bool dropped;        /* the text is gone, as the cursor: see texts.h, as all below */
	uint64_t sum;        /* of the text that is gone; its length is `len` still */
	struct texts *texts; /* texts' mutex, too, as all below; NULL: nothing is kept */
	uid_t uid;
	size_t bytes;
	TAILQ_ENTRY(content) kept;
};

/* All handles of a mount. Files that are open when the mount ends are never closed: what is left then is freed with it. */
struct handles *handles_new(void);
void handles_free(struct handles *handles);

/* A new one of the inode `ino`, opened by the caller, is held once. NULL without memory. */
struct handle *handle_new(const struct call *call, int flags, uint64_t ino);
/* NULL is allowed, as in the next. */
struct handle *handle_hold(struct handle *handle);

/* Ends with the last hold. */
void handle_drop(struct handle *handle);

/* Calls `fn` for each that is open of an inode, and perhaps of others, with the handles' mutex held, until it returns false. */
void handles_each(struct handles *handles, uint64_t ino, bool (*fn)(void *arg, struct handle *handle), void *arg);

/* flock(2) was called on this one for the first time. How many there are of that kind. */
void handle_flocks(struct handle *handle);
size_t handles_flocked(struct handles *handles);

/* A handle's number, for the kernel, and the handle of a number; NULL if it is none, or none any more. `fi` may be NULL. */
uint64_t handle_id(const struct handle *handle);
struct handle *handle_of(const struct fs *fs, const struct fuse_file_info *fi);

bool handle_writes(const struct handle *handle);
bool handle_reads(const struct handle *handle);

/* Its content; NULL without memory. */
struct content *handle_content(struct handle *handle);

/* The same with its mutex taken, to be unlocked by the caller. */
struct content *handle_lock(struct handle *handle);

/* Whether there is a text, or was one until memory ran short. */
bool content_is_made(const struct content *content);

/* Whether the text was made a moment ago, within a second; and its length told, so that the read that follows finds it so. */
bool content_is_young(const struct content *content);
bool content_is_told(const struct content *content);

/* Keeps a copy of the caller, before the file is open. 0 or -ENOMEM. */
int handle_remember(struct handle *handle, const struct atlock_caller *caller);

/* Who that was; NULL if nobody. `handle` may be NULL. */
const struct atlock_caller *handle_caller(const struct handle *handle);

#endif
