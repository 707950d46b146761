/* Symbolic links to locks: where they lead and what stat(2) shows of them. The directories they are in say which lock it is. */
#ifndef LINK_H
#define LINK_H

#include "kind.h"

/* The path of a lock as seen from `dir`: as many "../" as lead to the root, then its path. -ENAMETOOLONG. */
int link_target(struct call *call, const struct node *dir, const struct atlock_name *name, char out[ATLOCK_PATH_MAX]);

/* A link to this lock; it is the holder's, and nothing about it may be kept: it ends with the lock. */
int link_found(struct call *call, const struct node *dir, const struct atlock_view *view, const struct kind *kind,
	       struct found *out);

#endif
