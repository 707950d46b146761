/* The path of a node, and the lock or directory that the path names. */
#ifndef PATH_H
#define PATH_H

#include "kind.h"

/* The path of `name` below `dir` in the name space of locks: without a leading "queue/" or "wait/". -ENAMETOOLONG. */
int path_print(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX]);

/* The path from the root of the mount, as users see it. */
int path_show(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX]);

/*
 * What `name` below `dir` is: ATLOCK_PATH_DIR or ATLOCK_PATH_LOCK, or a negative errno. `*id` gets the directory of
 * custom/ if it is one, else NODE_NO_DIR; `lock`, which may be NULL, the name if it is a lock.
 */
int path_kind(struct call *call, const struct node *dir, const char *name, uint64_t *id, struct atlock_name *lock);

/*
 * The lock called `name` below `dir`; and the lock that a node names, which is parsed once a call. As in path_kind(), an "@pid:" is
 * one that the caller knows: inside a container it becomes ours.
 */
int path_lock(struct call *call, const struct node *dir, const char *name, struct atlock_name *out);
int path_node_lock(struct call *call, const struct node *node, struct atlock_name *out);

#endif
