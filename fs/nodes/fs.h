/*
 * The FUSE front end: one request, one call of the lock manager, one reply.
 *
 * A mount is a struct fs. Every request takes a struct call from a list of free ones, finds its node (inode.h), runs the
 * operation of that node's row (kind.h), and ends in call_end() with what the row returned: a negative errno, 0, or
 * CALL_ANSWERED. A row that returns CALL_LATER owns the call and ends it later, on any thread.
 *
 * Threads. Requests run on the threads of loop.c, several at once. Each table (inodes, handles, pages, texts, parks,
 * whys, cache, dir_access) has its own mutex, which is taken last and held for a few instructions only, never across a
 * call of the manager. The exception is the mutex of an open file's content: it orders reads and writes of that file
 * and is held across the manager's call.
 */
#ifndef FS_H
#define FS_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)

#include <bsd/sys/queue.h>
#include <fuse3/fuse_lowlevel.h>
#include <stdatomic.h>
#include <time.h>

#include <atlock.h>

/* Largest WRITE in bytes. Each thread has a buffer of this size, and reads of long lists need a large one. */
#define FS_WRITE_MAX (128U * 1024)

/* Block size at which stdio and pipes cut a long text; also the page size, at whose end the kernel cuts. */
#define FS_WRITE_BLOCK 4096U

struct cache;
struct call;
struct calls;
struct dir_access_cache;
struct endings;
struct fs;
struct handle;
struct handles;
struct inodes;
struct kind;
struct loop;
struct node;
struct pages;
struct parks;
struct share;
struct texts;
struct whys;

/* What the threads that read requests do for requests that are answered later. wire/loop.c implements it. */
struct wire {
	/* A request of this user is answered later; and: it is answered, or will never be. */
	struct share *(*later)(struct fs *fs, uid_t uid);
	void (*ended)(struct fs *fs, struct share *share);

	/* Runs call->again() on one of those threads or, once they have ended, on this one. */
	void (*again)(struct fs *fs, struct call *call);

	/*
	 * Returns when ops_seen() was called with every request that the kernel handed out before now. Only for their
	 * threads: it takes a while.
	 */
	void (*catch_up)(struct fs *fs);

	/* endings_expire() has to be called at another time than it said. */
	void (*alarm)(struct fs *fs);
};

/* The process that writes notifications to the kernel. daemon/notifier.c starts it; see notice.h. */
struct notifier {
	pid_t pid; /* 0: none */
	int socket;
	int device; /* until it is attached to the session; -1 afterwards */
};

struct fs {
	struct atlock *al;
	struct fuse_session *session;
	struct loop *loop; /* while it runs */
	const struct wire *wire;
	struct notifier notifier;
	struct calls *calls;
	struct inodes *inodes;
	struct handles *handles;
	struct pages *pages;
	struct texts *texts;
	struct parks *parks;
	struct whys *whys;
	_Atomic uint64_t removal; /* of a free lock: which process and name were counted last */
	struct cache *cache;
	struct dir_access_cache *dir_access;
	struct endings *endings;
	struct timespec started; /* time of virtual directories */
	_Atomic int64_t changed; /* time of lists: wall time of the last change or refusal */
	uid_t uid;               /* owner of virtual directories and lists */
	gid_t gid;
	uint64_t nonce;               /* tells flock holders of this mount from those of an earlier one */
	const char *mountpoint;       /* NULL: unknown */
	void (*ready)(struct fs *fs); /* called once, after the kernel's INIT */
	int ready_fd;                 /* written by `ready`; -1 afterwards */
};

/* The change count of a lock at one moment; see cache.h. */
struct cache_stamp {
	unsigned int slot;
	unsigned int changes;
};

/* How many seconds the kernel may cache a name, and attributes. 0 is always right. */
struct life {
	double entry;
	double attr;
	bool stamped; /* only if the lock has not changed since the stamp */
	struct cache_stamp stamp;
};

/* What a lookup found. */
struct found {
	const struct kind *kind;
	uint64_t dir;
	struct stat st; /* st_ino is filled in by the dispatcher */
	struct life life;
	bool sized;   /* st_size of a file is exact; else only stat() reports it, see pages.h */
	bool counted; /* life.stamp, even without a lifetime, tells if a text, the same for all users, has changed */
};

/* What a call would do. */
enum act { ACT_LOOK, ACT_MAKE, ACT_MKDIR, ACT_REMOVE, ACT_RMDIR, ACT_MOVE, ACT_CHANGE, ACT_WRITE, ACT_FLOCK, ACTS };

TAILQ_HEAD(call_list, call);

struct call {
	struct fs *fs;
	struct atlock *al;
	fuse_req_t req; /* invalid once it is answered, as `ctx` */
	const struct fuse_ctx *ctx;
	struct node *node; /* the node, or the directory of `name`; NULL: unknown */
	const char *
		name; /* NULL, or in `component`; a name that is too long is the kernel's, as long as the handler runs */
	enum act act;
	bool paged;          /* a READ for the page cache; see pages.h */
	const gid_t *groups; /* the caller's groups if they were read already (reach.h); else NULL */
	size_t group_count;
	struct atlock_why why;
	const struct node *named; /* the node that names `node_lock`, see path_node_lock(); NULL: none yet */
	struct atlock_name node_lock;
	struct fuse_ctx opener; /* what `ctx` points to after caller_act_as_opener() */
	char component[ATLOCK_COMPONENT_MAX + 1];

	/* Of a call that is answered later; see call_later() and ending.h. */
	TAILQ_ENTRY(call) link;           /* free calls, calls that are put aside, or calls to be run again */
	struct share *share;              /* whose request it counts as; NULL: it is answered by its handler */
	bool waited;                      /* it was put aside once */
	void (*again)(struct call *call); /* runs the request from its beginning; NULL: it cannot be put aside */
	uint64_t token;                   /* of the grant whose end it awaits; 0: of all that began up to `begun` */
	uint64_t begun;
	int64_t since;

	/* Arguments of requests that are answered later: valid if they set them. */
	struct handle *handle;
	int flags; /* of open(2) or flock(2) */
	struct found found;
	struct cache_stamp stamp;
	struct atlock_name lock;
	struct atlock_caller caller;
	struct atlock_request ask;
	struct atlock_grant grant;
	unsigned int own; /* changes of the lock that the request itself has made */
	int refused;      /* error of the first try */
};

/* What operations return beside 0, 1 where it means "none", and a negative errno. */
#define CALL_LATER 2    /* the call is owned by what will call call_end(): it may be gone, do not touch it */
#define CALL_ANSWERED 3 /* the reply has been sent */

struct calls *calls_new(void);
void calls_free(struct calls *calls);

/* Begins a call about a node or, with `name`, about that entry of it. NULL without memory: then that was the reply. */
struct call *call_begin(fuse_req_t req, struct node *node, const char *name, enum act act);

/* Frees a call whose request is answered otherwise. */
void call_free(struct call *call);

/* The call will be answered after its handler has returned: until call_end() it counts as a request of its user. */
void call_later(struct call *call);

/* The caller as a holder; `who` is what followed '@' in the name, "" for the session. */
int caller_identify(struct call *call, const char *who, struct atlock_caller *out);

/* The same where only the user matters: never fails for want of a session. */
int caller_user(struct call *call, struct atlock_caller *out);

/* Leaves `why` as it is: it already says what this call would say, or better. */
void call_told(struct call *call);

/* Fills the call's reason and returns `err`, so that a refusal reads `return call_refuse(...)`. */
int call_refuse(struct call *call, int err, enum atlock_code code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
