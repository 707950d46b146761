/* From a node to its path, and to the lock or directory that the path names. */
#ifndef PATH_H
#define PATH_H

#include "kind.h"

/* The path of `name` below `dir` as locks are named: without the "queue/" or "wait/" in front. -ENAMETOOLONG. */
int path_print(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX]);

/* The same as people know it, from the root of the mount on. */
int path_show(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX]);

/*
 * What `name` below `dir` is: ATLOCK_PATH_DIR or ATLOCK_PATH_LOCK, or a negative errno. `*id` gets the directory of custom/
 * that it is, else NODE_NO_DIR.
 */
int path_kind(struct call *call, const struct node *dir, const char *name, uint64_t *id);

/* The lock called `name` below `dir`. */
int path_lock(struct call *call, const struct node *dir, const char *name, struct atlock_name *out);

#endif
