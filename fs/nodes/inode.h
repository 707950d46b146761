/*
 * Nodes: the part of the tree that the kernel knows, each a component below a parent.
 *
 * A node id is a number from a table (numbers.h); the root is FUSE_ROOT_ID. A node lives while the kernel counts
 * lookups of it or it has a live child. A lookup of the same component finds the same node, unless the name now means
 * another kind of thing (a lock gone, a directory made in its place), or each process that reads the file has a node of
 * its own (pages.h). Parent, component and kind never change, so a request reads them without a lock; but once it is
 * answered the kernel may forget the node, so work that goes on after the reply must hold it. The number that users see
 * (st_ino) is a hash of the path and survives FORGET and remount.
 */
#ifndef INODE_H
#define INODE_H

#include <bsd/sys/queue.h>
#include <stdatomic.h>

#include "fs.h"

struct handle;
struct kind;

#define NODE_NO_DIR UINT64_MAX
#define NODE_HAS_NAME 1U
#define NODE_HAS_ATTR 2U             /* the kernel has its attributes, and they have not changed since */
#define NODE_TOLD_SEVERAL UINT32_MAX /* several sizes; see pages.c */

/* Keep it small: there may be many thousands of waiters, each with a node of its own. */
struct node {
	struct node *parent; /* NULL for the root */
	const struct kind *kind;
	uint64_t dir; /* the directory of custom/ that it is or mirrors; else NODE_NO_DIR */
	uint64_t ino;
	LIST_ENTRY(node) link; /* inodes' mutex, as the next four */
	uint32_t lookups;
	uint32_t children;
	uint16_t changes; /* low bits of the lock's change count at the last lookup; see node_own() */
	bool hashed;
	bool own;              /* for one process at a time, the maker; see node_own(). Never changes */
	atomic_int maker;      /* thread id; 0: not known */
	struct handle *reader; /* pages' mutex, as the next two; last file opened for reading it, NULL: closed */
	uid_t reader_uid;      /* the user of all readers */
	uint16_t readers;      /* number of files open for reading it */
	atomic_bool landed;    /* the maker has made the request that it looked the node up for */
	atomic_uchar kept;     /* NODE_HAS bits: the kernel caches something of it; see cache.h */
	_Atomic uint32_t told; /* file size reported to the kernel, encoded by pages.c */
	uint32_t slot;         /* in the number table; the root has none. Never changes */
	char component[];
};

struct inodes *inodes_new(const struct kind *root);
void inodes_free(struct inodes *inodes);

/* Never NULL: a stale id gives a node whose operations all fail, with ESTALE where the kernel should look up again. */
struct node *node_of(struct fs *fs, fuse_ino_t id);
fuse_ino_t node_id(const struct inodes *inodes, const struct node *node);

/* The node of a component, with one more lookup counted for a reply to the kernel. NULL without memory. */
struct node *node_intern(struct inodes *inodes, struct node *parent, const char *component, const struct kind *kind,
			 uint64_t dir);

/*
 * The same, but a node that only this thread is looking up now: a new one, or a known one that is not open for reading
 * (node_unfind). A thread that looked a node up is about to open it or to make another request about it. After that
 * request (node_land), or if CREATE made and thus opened it, another thread's lookup may find the node. A node whose
 * size was reported is found only if just one size was and no changes were counted since its lookup.
 */
struct node *node_own(struct inodes *inodes, struct node *parent, const char *component, const struct kind *kind,
		      uint64_t dir, pid_t thread, const unsigned int *changes);
void node_land(struct node *node, pid_t thread);
bool node_is_looked_up(const struct node *node, pid_t thread);

/* Hides the node from lookups; or shows it again, unless lookups would find another one by then. */
void node_unfind(struct inodes *inodes, struct node *node);
void node_refind(struct inodes *inodes, struct node *node);

/* Holds a node that the caller already has, as one more lookup would. */
struct node *node_hold(struct inodes *inodes, struct node *node);

/* The kernel has forgotten `count` lookups. */
void node_forget(struct inodes *inodes, struct node *node, uint64_t count);

/*
 * A directory was removed: its name gets a new node next time, because the kernel has marked the old one dead for good.
 */
void node_retire(struct inodes *inodes, struct node *parent, const char *component);

/* What the kernel may have of a node: cached name and attributes; only cached attributes; or just the node. */
enum node_kept { NODE_KEPT, NODE_KEPT_ATTR, NODE_KNOWN };

/*
 * Finds the node of this kind that a path names, if the kernel may have `what` of it. 0: returns the ids of the node
 * and of its directory, clears the marks of what the kernel keeps, and holds the node (node_hold) so that its id stays
 * valid. Else 1.
 */
int node_find_kept(struct inodes *inodes, const char *path, const struct kind *kind, enum node_kept what,
		   fuse_ino_t *parent, fuse_ino_t *node);

/* st_ino of a component below a parent. */
uint64_t node_ino(const struct node *parent, const char *component);

#endif
