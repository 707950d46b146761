/* What the kernel is told of a node and of an open file, and what is taken back if the reply does not go out. */
#ifndef ENTRY_H
#define ENTRY_H

#include "kind.h"

/* Makes the node of what was found below `dir` and the reply that tells the kernel of it. -ENOMEM. */
int entry_make(struct call *call, struct node *dir, const char *name, const struct found *found,
	       struct fuse_entry_param *out);

/* Takes back what entry_make() counted, for a reply that did not go out. */
void entry_drop(struct call *call, const struct fuse_entry_param *entry);

/*
 * Answers a CREATE: with what was found, and the handle, which is the kernel's then; or with an error, and drops the handle.
 * Later, by whoever made the row's `create` return CALL_PARKED, with a call and name of his own.
 */
void entry_created(struct call *call, struct handle *handle, const struct found *found, int err);

/* Fills the reply that opens a file. */
void entry_open(struct fuse_file_info *fi, const struct kind *kind, const struct handle *handle);

/* Takes an open file back whose opener is gone; `entry` may be NULL. */
void entry_unopen(struct call *call, struct node *node, struct handle *handle, const struct fuse_entry_param *entry);

#endif
