/*
 * An open file: the text that its reads return, the incomplete end of its last write, and the caller it acts for. Or an
 * open directory, with its entries.
 *
 * One handle is one open file description: dup and fork share it, and it ends with the last descriptor. As soon as a
 * request is answered the kernel may close the file on another thread, so a request that uses the handle after its
 * reply must hold it.
 *
 * Thousands of callers may wait for locks, each in the first read of an open file. So a handle is small, and its
 * content is made by the first call that needs it.
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
	LIST_ENTRY(handle) link; /* protected by the mutex of struct handles */
	struct fs *fs;
	atomic_uint holds;
	int flags; /* of open(2) */
	uid_t uid; /* of the opener, as the next two; see caller_opened() */
	gid_t gid;
	pid_t pid;
	uint32_t slot; /* of its number */
	uint32_t ino;  /* lower half of the inode number, to save memory: there may be many thousands of handles */
	_Atomic uint64_t token;            /* the lock's when it was opened; 0: the lock was free */
	_Atomic(struct content *) content; /* NULL: not needed yet */
	_Atomic(struct flocked *) flocked; /* flocked.c's, once flock(2) was called */
};

struct content {
	struct atlock_caller *caller; /* opener for writing: a descriptor that is passed on keeps its rights */
	struct listing *listing;      /* of an open directory */
	pthread_mutex_t mutex;        /* orders reads and writes of this open file; protects all below */
	char *text;                   /* what reads return */
	size_t len;
	struct timespec made; /* time when the text was made; see ops_file.c, as the next two */
	bool sized;           /* stat reported its length, and it was not read since */
	bool done;            /* it was read to its end */
	size_t pos;           /* read position in a file without offsets */
	char *tail;           /* incomplete end of a write; see lock_write.c, and texts_tail() */
	size_t tail_len;
	void *cursor; /* owned by the kind; freed with free() */
	int refused;  /* error of a text whose writer has been answered only for its first pieces */
	bool tail_applied;
	bool replace;        /* truncated: the next write replaces instead of merging */
	bool asked;          /* a read or write has asked for the lock; see kind_wait.c */
	bool paged;          /* the page cache has parts of the text */
	bool dropped;        /* text and cursor were dropped; see texts.h, as all below */
	uint64_t sum;        /* checksum of the dropped text; `len` is still its length */
	struct texts *texts; /* also texts' mutex, as all below; NULL: not accounted */
	uid_t uid;
	size_t bytes;
	TAILQ_ENTRY(content) kept;
};

/*
 * All handles of a mount. The kernel never closes files that are open when the mount ends: handles_free() frees those
 * handles.
 */
struct handles *handles_new(void);
void handles_free(struct handles *handles);

/* A new handle for the inode `ino`, opened by the caller and held once. NULL without memory. */
struct handle *handle_new(const struct call *call, int flags, uint64_t ino);
/* `handle` may be NULL, as in the next. */
struct handle *handle_hold(struct handle *handle);

/* Drops a hold; the last one frees the handle. */
void handle_drop(struct handle *handle);

/*
 * Calls `fn` for each open handle of an inode, and perhaps of others, with the handles' mutex held, until it returns
 * false.
 */
void handles_each(struct handles *handles, uint64_t ino, bool (*fn)(void *arg, struct handle *handle), void *arg);

/* The same for each handle on which flock(2) was called, of any inode. */
void handles_each_flocked(struct handles *handles, bool (*fn)(void *arg, struct handle *handle), void *arg);

/* Counts a handle on which flock(2) was called for the first time; and returns that count. */
void handle_flocks(struct handle *handle);
size_t handles_flocked(struct handles *handles);

/*
 * The file of this inode that the calling thread opened last for writing, held for the caller; NULL if there is none, or
 * if 16384 were opened since.
 */
struct handle *handle_opened(const struct call *call, uint64_t ino);

/*
 * The number of a handle, for the kernel, and the handle of a number; NULL if there is none (any more). `fi` may be
 * NULL.
 */
uint64_t handle_id(const struct handle *handle);
struct handle *handle_of(const struct fs *fs, const struct fuse_file_info *fi);

bool handle_writes(const struct handle *handle);
bool handle_reads(const struct handle *handle);

/* The content, made if there is none yet; NULL without memory. */
struct content *handle_content(struct handle *handle);

/* The same with its mutex locked; the caller unlocks it. */
struct content *handle_lock(struct handle *handle);

/* The file was truncated: its next write replaces instead of merging. 0 or -ENOMEM; `handle` may be NULL. */
int handle_replace(struct handle *handle);

/* Whether there is a text, or was one until it was dropped to save memory. */
bool content_is_made(const struct content *content);

/*
 * Whether the text was made within the last second; and whether its length was reported, so that the next read must
 * match it.
 */
bool content_is_young(const struct content *content);
bool content_is_told(const struct content *content);

/* Stores a copy of the caller, before the file is open. 0 or -ENOMEM. */
int handle_remember(struct handle *handle, const struct atlock_caller *caller);

/* The stored caller; NULL if there is none. `handle` may be NULL. */
const struct atlock_caller *handle_caller(const struct handle *handle);

#endif
