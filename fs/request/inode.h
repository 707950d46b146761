/*
 * Nodes: what the kernel knows of the tree, each a component below a parent.
 *
 * A node id is a number of a table (numbers.h); the root is FUSE_ROOT_ID. A node lives while the kernel counts lookups of it or a child
 * of it lives, and a lookup of the same component gives the same node, unless what it names is another kind of thing now
 * (a lock gone, a directory made in its place), or a file of which each process that reads it has a node of its own (pages.h).
 * Parent, component and kind never change, so a request reads them without a lock; but once it is answered the kernel may forget the
 * node, and what goes on after that holds it. The number that users see (st_ino) is a hash of the path and survives forgetting and
 * remounting.
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
#define NODE_HAS_ATTR 2U             /* and its attributes have not changed since */
#define NODE_TOLD_SEVERAL UINT32_MAX /* sizes; see pages.c */

/* There may be many thousands of waiters, each with one of its own: keep it small. */
struct node {
	struct node *parent; /* NULL for the root */
	const struct kind *kind;
	uint64_t dir; /* the directory of custom/ that it is or mirrors; NODE_NO_DIR elsewhere */
	uint64_t ino;
	LIST_ENTRY(node) link; /* inodes' mutex, as the next four */
	uint32_t lookups;
	uint32_t children;
	uint16_t changes; /* as counted when it was looked up last, what fits of it; see node_own() */
	bool hashed;
	bool own;              /* for one process at a time, the maker; see node_own(). Never changes */
	atomic_int maker;      /* thread id; 0: not known */
	struct handle *reader; /* pages' mutex, as the next two: opened last to read it; NULL: closed again */
	uid_t reader_uid;      /* the user of all of them */
	uint16_t readers;      /* files that are open to read it */
	atomic_bool landed;    /* the maker is past what it looked it up for */
	atomic_uchar kept;     /* NODE_HAS bits: the kernel was told something of it that lasts; see cache.h */
	_Atomic uint32_t told; /* of a file's size; pages.c knows what it means */
	uint32_t slot;         /* of its number; the root has none. Never changes */
	char component[];
};

struct inodes *inodes_new(const struct kind *root);
void inodes_free(struct inodes *inodes);

/* Never NULL: an id that is out of use is that of a node of which all operations fail, with ESTALE where they ask for it. */
struct node *node_of(struct fs *fs, fuse_ino_t id);
fuse_ino_t node_id(const struct inodes *inodes, const struct node *node);

/* The node of a component, counted once more for a reply to the kernel. NULL without memory. */
struct node *node_intern(struct inodes *inodes, struct node *parent, const char *component, const struct kind *kind,
			 uint64_t dir);

/*
 * The same, but a node that this thread alone looks up now: a new one, or one that is only known from before and not open for
 * reading (node_unfind). A thread that looked a node up is about to open it, or to ask for something else about it: after that
 * (node_land), or if it was made by CREATE, which opens it, the node is another's who looks for it. One whose size was told is
 * not, unless that was one size and no changes were counted since it was looked up.
 */
struct node *node_own(struct inodes *inodes, struct node *parent, const char *component, const struct kind *kind,
		      uint64_t dir, pid_t thread, const unsigned int *changes);
void node_land(struct node *node, pid_t thread);
bool node_is_looked_up(const struct node *node, pid_t thread);

/* No lookup finds it any more; or again, if there is none that it would find instead. */
void node_unfind(struct inodes *inodes, struct node *node);
void node_refind(struct inodes *inodes, struct node *node);

/* Keeps a node that somebody has, as one more lookup would. */
struct node *node_hold(struct inodes *inodes, struct node *node);

/* The kernel has dropped `count` lookups. */
void node_forget(struct inodes *inodes, struct node *node, uint64_t count);

/* A directory was removed: its name gets a new node next time, since the kernel marks the old one dead for good. */
void node_retire(struct inodes *inodes, struct node *parent, const char *component);

/* What the kernel may have of a node: that it is there and what it is like, for a while; only the latter; that there is one. */
enum node_kept { NODE_KEPT, NODE_KEPT_ATTR, NODE_KNOWN };

/*
 * The ids of the node of this kind that a path names and of its directory, if the kernel may have that of it: 0, and the marks that
 * it keeps something are taken away, and the node is held (node_hold) so that its id stays its own; else 1.
 */
int node_find_kept(struct inodes *inodes, const char *path, const struct kind *kind, enum node_kept what,
		   fuse_ino_t *parent, fuse_ino_t *node);

/* st_ino of a component. */
uint64_t node_ino(const struct node *parent, const char *component);

#endif
