/* Replies that tell the kernel of a node or an open file, and how they are undone if the reply does not go out. */
#ifndef ENTRY_H
#define ENTRY_H

#include "kind.h"

/* Makes the node of what was found below `dir`, and the reply for it. -ENOMEM. */
int entry_make(struct call *call, struct node *dir, const char *name, const struct found *found,
	       struct fuse_entry_param *out);

/* Undoes the lookup count of entry_make(), for a reply that did not go out. */
void entry_drop(struct call *call, const struct fuse_entry_param *entry);

/*
 * Ends a CREATE: answers with call->found and call->handle, which the kernel owns from then on; or with an error, and
 * drops the handle. If the row's `create` returned CALL_LATER, the row calls this later.
 */
void entry_created(struct call *call, int err);

/* Fills the reply that opens a file, or creates it. */
void entry_open(struct fuse_file_info *fi, const struct kind *kind, const struct handle *handle, bool created);

/* Undoes the opening of a file whose opener is gone; `entry` may be NULL. */
void entry_unopen(struct call *call, struct node *node, struct handle *handle, const struct fuse_entry_param *entry);

#endif
