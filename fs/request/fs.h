/*
 * The FUSE front end: one request, one call of the lock manager, one reply.
 *
 * A mount is a struct fs. Every request makes a struct call on its stack, finds its node (inode.h), runs the operation
 * of that node's row (kind.h), and replies with what the row returned: a negative errno, 0, or CALL_PARKED if the reply
 * comes later, from parked.c or lock_take.c, or has been sent already.
 *
 * Threads. Requests run on the threads of loop.c, several at once. Each table (inodes, handles, pages, texts, parks,
 * whys, cache, dir_access) has its own mutex, which is taken last and held for a few instructions only, never across a
 * call of the manager. The exception is the mutex of an open file's content: it orders reads and writes of that file
 * and is held across the manager's call.
 */
#ifndef FS_H
#define FS_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)

#include <fuse3/fuse_lowlevel.h>
#include <time.h>

#include <atlock.h>

/* Largest WRITE in bytes. Each thread has a buffer of this size, and reads of long lists need a large one. */
#define FS_WRITE_MAX (128U * 1024)

/* Block size at which stdio and pipes cut a long text; also the page size, at whose end the kernel cuts. */
#define FS_WRITE_BLOCK 4096U

struct cache;
struct dir_access_cache;
struct endings;
struct handles;
struct inodes;
struct node;
struct pages;
struct parks;
struct texts;
struct turns;
struct whys;

struct fs {
	struct atlock *al;
	struct fuse_session *session;
	struct inodes *inodes;
	struct handles *handles;
	struct pages *pages;
	struct texts *texts;
	struct parks *parks;
	struct whys *whys;
	struct cache *cache;
	struct dir_access_cache *dir_access;
	struct endings *endings;
	struct timespec started; /* time of virtual directories */
	_Atomic int64_t changed; /* time of lists: wall time of the last change or refusal */
	uid_t uid;               /* owner of virtual directories and lists */
	gid_t gid;
	uint64_t nonce;         /* tells flock holders of this mount from those of an earlier one */
	const char *mountpoint; /* NULL: unknown */
	const struct turns *turns;
	void (*ready)(struct fs *fs); /* called once, after the kernel's INIT */
	int ready_fd;                 /* written by `ready`; -1 afterwards */
};

/* What a call would do. */
enum act { ACT_LOOK, ACT_MAKE, ACT_MKDIR, ACT_REMOVE, ACT_RMDIR, ACT_MOVE, ACT_CHANGE, ACT_WRITE, ACT_FLOCK, ACTS };

struct call {
	struct fs *fs;
	struct atlock *al;
	fuse_req_t req;
	const struct fuse_ctx *ctx;
	struct node *node; /* the node, or the directory of `name`; NULL: unknown */
	const char *name;
	enum act act;
	bool paged;          /* a READ for the page cache; see pages.h */
	const gid_t *groups; /* the caller's groups if they were read already (reach.h); else NULL */
	size_t group_count;
	struct atlock_why why;
};

#define CALL_PARKED 1 /* the reply comes later, or has been sent */

/* Begins a call about a node or, with `name`, about that entry of it. */
void call_begin(struct call *call, fuse_req_t req, struct node *node, const char *name, enum act act);

/*
 * Replies with an error (negative errno) and records the reason for the caller's `why`. A call that would have changed
 * something always has a reason; see refuse.h.
 */
void call_fail(struct call *call, int err);

/* Leaves `why` as it is: it already says what this call would say, or better. */
void call_told(struct call *call);

/* Replies 0 or an error; CALL_PARKED does nothing. */
void call_done(struct call *call, int err);

/* Fills the call's reason and returns `err`, so that a refusal reads `return call_refuse(...)`. */
int call_refuse(struct call *call, int err, enum atlock_code code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
