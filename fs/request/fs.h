/*
 * The FUSE front end: one request, one call of the lock manager, one reply.
 *
 * A mount is a struct fs. Every request makes a struct call on its stack, finds the node it is about (inode.h), runs that
 * node's row of operations (kind.h), and answers with what the row returned: a negative errno, 0, or CALL_PARKED when the
 * answer comes later, from parked.c or lock_take.c, or has been given already.
 *
 * Threads. Requests run on libfuse's workers, several at once. Each table (inodes, handles, pages, texts, parks, whys, cache,
 * dir_access) has a mutex
 * of its own, taken last and for a few instructions only; no call of the manager is made under one. That of an open
 * file's content is the exception: it orders reads and writes of one open file and is held across the manager's call.
 */
#ifndef FS_H
#define FS_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)

#include <fuse3/fuse_lowlevel.h>
#include <time.h>

#include <atlock.h>

/* Bytes in one WRITE. Each thread has a buffer of this size, and reads of long lists want it larger. */
#define FS_WRITE_MAX (128U * 1024)

/* What stdio and pipes cut a long text at, and the size of a page, at whose end the kernel does. */
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
	struct timespec started; /* what virtual directories show as their time */
	_Atomic int64_t changed; /* and what lists show: wall time of the last change or refusal */
	uid_t uid;               /* and as their owner */
	gid_t gid;
	uint64_t nonce;         /* tells this mount's flock holders from those of an earlier one */
	const char *mountpoint; /* NULL: not known */
	const struct turns *turns;
	void (*ready)(struct fs *fs); /* called once, when the kernel has said hello */
	int ready_fd;                 /* for that; -1 afterwards */
};

/* What a call would do to what it is about. */
enum act { ACT_LOOK, ACT_MAKE, ACT_MKDIR, ACT_REMOVE, ACT_RMDIR, ACT_MOVE, ACT_CHANGE, ACT_WRITE, ACT_FLOCK, ACTS };

struct call {
	struct fs *fs;
	struct atlock *al;
	fuse_req_t req;
	const struct fuse_ctx *ctx;
	struct node *node; /* what it is about, or the directory of `name`; NULL: not known */
	const char *name;
	enum act act;
	bool paged;          /* a READ for the kernel's pages; see pages.h */
	const gid_t *groups; /* the caller's, where they were read already (reach.h); NULL: not */
	size_t group_count;
	struct atlock_why why;
};

#define CALL_PARKED 1 /* the reply comes later, or has been given */

/* Begins a call about a node, or with a name about that below it. */
void call_begin(struct call *call, fuse_req_t req, struct node *node, const char *name, enum act act);

/*
 * Answers with an error (negative errno) and remembers the reason for the caller's `why`. What would have changed something
 * always has one; see refuse.h.
 */
void call_fail(struct call *call, int err);

/* The caller's `why` says already what this call would say, or better: it is left as it is. */
void call_told(struct call *call);

/* Answers 0 or an error; CALL_PARKED does nothing. */
void call_done(struct call *call, int err);

/* Fills the call's reason and returns `err`, so that a refusal reads `return call_refuse(...)`. */
int call_refuse(struct call *call, int err, enum atlock_code code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
