/*
 * A kind of node is one row of operations. The tree is made of these rows and of nothing else: root.c names the ones in the
 * root, each row's lookup says which come below it, and a new part of the tree is a new row.
 *
 * Operations return 0, a negative errno (with the reason in call->why where there is one), or CALL_PARKED where the reply
 * comes later. They do not reply themselves unless said so. A row leaves out what its nodes cannot do; the dispatcher
 * (ops.c) then answers EPERM, and the row's hint is the reason.
 *
 * LOOKUP, CREATE, UNLINK, MKDIR, RMDIR and RENAME hold the directory in the kernel and must never wait for anybody.
 */
#ifndef KIND_H
#define KIND_H

#include <stdio.h>

#include "fs.h"
#include "inode.h"

struct handle;
struct listing;

/* A lock as it was at one moment; see cache.h. */
struct cache_stamp {
	unsigned int slot;
	unsigned int changes;
};

/* For how many seconds the kernel may believe a name, and attributes. 0 is always right. */
struct life {
	double entry;
	double attr;
	bool stamped; /* only if nothing changed since the stamp */
	struct cache_stamp stamp;
};

/* What a lookup found. */
struct found {
	const struct kind *kind;
	uint64_t dir;
	struct stat st; /* st_ino is filled in by the dispatcher */
	struct life life;
	bool sized;   /* a file's size is exact. Else it is for stat() to say; see pages.h */
	bool counted; /* life.stamp says, also without a lifetime, whether a text, the same for all, has changed since */
};

struct kind {
	mode_t type;  /* S_IFDIR, S_IFREG or S_IFLNK */
	mode_t mode;  /* of a directory that never changes */
	bool secret;  /* names may be passwords: no reason quotes one */
	bool plus;    /* what it lists may be kept by the kernel, so looking it up at once is worth it */
	bool mirror;  /* what is below names locks as if it were the root: queue/, wait/ */
	bool permits; /* its operations check who may; permit.h does it for all others */
	bool ends; /* what it names may end or become another's while it is open: each read from the start looks at it */
	bool passing;  /* made when it is looked at; mode 444 */
	bool moment;   /* and as old as that */
	bool constant; /* one text, for all readers and for ever */
	bool stream;   /* a file without offsets, as a pipe */
	bool unmade;   /* a directory that is there because it is named: an empty one may be a misspelled lock */
	off_t most;    /* bytes that no text of it has; 0: PAGES_MOST */

	/* How reasons end (refuse.h): what can be done to it or in it, and what a name may mean that is not there. */
	const char *hint;
	const char *missing; /* NULL: the hint */

	/* Any node. `handle` is NULL if the request came by name. */
	int (*stat)(struct call *call, struct node *node, struct stat *st, struct life *life);
	int (*set)(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which);

	/* What access(2) says, of which `err` is what owner and mode say. NULL: that, if all directories above let the caller pass. */
	int (*access)(struct call *call, struct node *node, int err);

	/* For the log: the lock that calls about the node, and about names in it, are about. NULL: the one that the path names. */
	int (*lock)(struct call *call, const struct node *node, struct atlock_name *out);

	/* Links: where one leads. And directories of links to locks: the lock that the link called `id` leads to, -ENOENT. */
	int (*readlink)(struct call *call, struct node *node, char out[ATLOCK_PATH_MAX]);
	int (*find)(struct call *call, struct node *dir, const char *id, struct atlock_view *out);

	/*
	 * Directories: `name` is a component below `dir` of at most ATLOCK_COMPONENT_MAX bytes. `list` is called for each step;
	 * see listing.h.
	 */
	int (*lookup)(struct call *call, struct node *dir, const char *name, struct found *out);
	int (*list)(struct call *call, struct node *dir, struct listing *out);
	int (*mkdir)(struct call *call, struct node *dir, const char *name, mode_t mode, struct found *out);
	int (*rmdir)(struct call *call, struct node *dir, const char *name);
	int (*create)(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
		      struct found *out);
	int (*unlink)(struct call *call, struct node *dir, const char *name);
	int (*rename)(struct call *call, struct node *dir, const char *from, const char *to, unsigned int flags);

	/*
	 * Files. `text` makes what reads serve, anew at offset 0 (malloc'ed); `read` replaces that and replies itself, and fills
	 * what it was asked for up to the end of the file if call->paged. `write`
	 * takes all or nothing, and `flush` says at close what could not be said before. `release` has nobody to tell.
	 */
	int (*open)(struct call *call, struct node *node, struct handle *handle);
	int (*text)(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len);
	int (*read)(struct call *call, struct node *node, struct handle *handle, size_t size, off_t off);
	int (*write)(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len);
	int (*flush)(struct call *call, struct node *node, struct handle *handle);
	void (*release)(struct call *call, struct node *node, struct handle *handle);
	int (*flock)(struct call *call, struct node *node, struct handle *handle, int op);

	/*
	 * Extended attributes by their name without "user."; `names` gets them with it, each with its NUL. What can be set can
	 * be removed.
	 */
	int (*xattr_list)(struct call *call, struct node *node, FILE *names);
	int (*xattr_get)(struct call *call, struct node *node, const char *key, char *value, size_t len);
	int (*xattr_set)(struct call *call, struct node *node, const char *key, const char *value, size_t len,
			 int flags);
	int (*xattr_remove)(struct call *call, struct node *node, const char *key);
};

#endif
