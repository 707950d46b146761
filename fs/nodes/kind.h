/*
 * A kind of node is one row of operations. The tree is made of these rows and of nothing else: root.c names the ones in
 * the root, each row's lookup says which come below it, and a new part of the tree is a new row.
 *
 * Operations return 0, a negative errno (with the reason in call->why where there is one), CALL_LATER where the
 * reply comes later, or CALL_ANSWERED. They do not reply themselves unless said so. A row leaves out what its nodes cannot do; the
 * dispatcher (ops.c) then answers EPERM, with the row's hint as the reason.
 *
 * During LOOKUP, CREATE, UNLINK, MKDIR, RMDIR and RENAME the kernel holds the directory's lock: they must never wait
 * for a caller.
 */
#ifndef KIND_H
#define KIND_H

#include <stdio.h>

#include "fs.h"
#include "inode.h"

struct handle;
struct listing;

struct kind {
	mode_t type;  /* S_IFDIR, S_IFREG or S_IFLNK */
	mode_t mode;  /* of a directory that never changes */
	bool secret;  /* names may be passwords: no reason may quote them */
	bool plus;    /* the kernel may cache its entries, so READDIRPLUS is worth it */
	bool mirror;  /* paths below it name locks as paths below the root do: queue/, wait/ */
	bool permits; /* its operations check permissions themselves; permit.h checks all others */
	bool ends;    /* what it names may end or change holder while it is open: each read from offset 0 checks that */
	bool passing; /* generated when it is read; mode 444 */
	bool moment;  /* and its times are then */
	bool constant; /* one text, the same for all readers and for ever */
	bool stream;   /* a file without offsets, like a pipe */
	bool unmade;   /* a directory that exists because it is named: an empty one may be a misspelled lock */
	off_t most;    /* more bytes than any of its texts has; 0: PAGES_MOST */

	/*
	 * How reasons end (refuse.h): what can be done to it or in it, and what a name that does not exist may be meant
	 * to be.
	 */
	const char *hint;
	const char *missing; /* NULL: the hint */

	/* Any node. `handle` is NULL if the request came by name. */
	int (*stat)(struct call *call, struct node *node, struct stat *st, struct life *life);
	int (*set)(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which);

	/*
	 * Answers access(2); `err` is what owner and mode say. NULL: `err`, if the caller may search all directories
	 * above.
	 */
	int (*access)(struct call *call, struct node *node, int err);

	/*
	 * For the log: the lock that calls about the node, and about names in it, are about. NULL: the lock that the
	 * path names.
	 */
	int (*lock)(struct call *call, const struct node *node, struct atlock_name *out);

	/* Links: the target. Directories of links to locks: the lock that the link called `id` leads to, -ENOENT. */
	int (*readlink)(struct call *call, struct node *node, char out[ATLOCK_PATH_MAX]);
	int (*find)(struct call *call, struct node *dir, const char *id, struct atlock_view *out);

	/*
	 * Directories: `name` is a component below `dir` of at most ATLOCK_COMPONENT_MAX bytes. `list` is called for each
	 * step; see listing.h.
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
	 * Files. `text` makes what reads return, anew at offset 0 (malloc'ed). `read` replaces that and replies itself (CALL_ANSWERED);
	 * if call->paged, it fills what was asked for up to the end of the file. `write` takes all or nothing, and
	 * `flush` reports at close(2) what could not be reported before. No caller waits for `release`.
	 */
	int (*open)(struct call *call, struct node *node, struct handle *handle);
	int (*text)(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len);
	int (*read)(struct call *call, struct node *node, struct handle *handle, size_t size, off_t off);
	int (*write)(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len);
	int (*flush)(struct call *call, struct node *node, struct handle *handle);
	void (*release)(struct call *call, struct node *node, struct handle *handle);
	int (*flock)(struct call *call, struct node *node, struct handle *handle, int op);

	/*
	 * Extended attributes by their name without "user."; `names` gets them with it, each with its NUL. What can be set
	 * can be removed.
	 */
	int (*xattr_list)(struct call *call, struct node *node, FILE *names);
	int (*xattr_get)(struct call *call, struct node *node, const char *key, char *value, size_t len);
	int (*xattr_set)(struct call *call, struct node *node, const char *key, const char *value, size_t len,
			 int flags);
	int (*xattr_remove)(struct call *call, struct node *node, const char *key);
};

#endif
