/*
 * Nodes: what the kernel knows of the tree, each a component below a parent.
 *
 * A node id is the node's address; the root is FUSE_ROOT_ID. A node lives while the kernel counts lookups of it or a child
 * of it lives, and a lookup of the same component gives the same node, unless what it names is another kind of thing now
 * (a lock gone, a directory made in its place). Parent, component and kind never change, so a request reads them without
 * a lock; but once it is answered the kernel may forget the node, and whoever goes on holds it. The number that users see (st_ino) is a hash of the path and survives forgetting and remounting.
 */
#ifndef INODE_H
#define INODE_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "fs.h"

struct kind;

#define NODE_NO_DIR UINT64_MAX

struct node {
	struct node *parent; /* NULL for the root */
	const struct kind *kind;
	uint64_t dir; /* the directory of custom/ that it is or mirrors; NODE_NO_DIR elsewhere */
	uint64_t ino;
	SLIST_ENTRY(node) link; /* inodes' mutex, as the next three */
	uint64_t lookups;
	uint32_t children;
	bool hashed;
	atomic_bool kept;      /* the kernel was told something of it that lasts; see cache.h */
	atomic_bool kept_attr; /* the same of its attributes, since they changed last */
	char component[];
};

struct inodes *inodes_new(const struct kind *root);
void inodes_free(struct inodes *inodes);

struct node *node_of(struct fs *fs, fuse_ino_t id);
fuse_ino_t node_id(const struct node *node);

/* The node of a component, counted once more for a reply to the kernel. NULL without memory. */
struct node *node_intern(struct inodes *inodes, struct node *parent, const char *component, const struct kind *kind,
			 uint64_t dir);

/* Keeps a node that somebody has, as one more lookup would. */
struct node *node_hold(struct inodes *inodes, struct node *node);

/* The kernel has dropped `count` lookups. */
void node_forget(struct inodes *inodes, struct node *node, uint64_t count);

/* A directory was removed: its name gets a new node next time, since the kernel marks the old one dead for good. */
void node_retire(struct inodes *inodes, struct node *parent, const char *component);

/*
 * The ids of the node of this kind that a path names and of its directory, if the kernel may be keeping what it was told about it,
 * or about its attributes only: 0, and the mark is taken away; else 1.
 */
int node_find_kept(struct inodes *inodes, const char *path, const struct kind *kind, bool attr, fuse_ino_t *parent,
		   fuse_ino_t *node);

/* st_ino of a component. */
uint64_t node_ino(const struct node *parent, const char *component);

#endif
