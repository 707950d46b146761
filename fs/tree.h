/* From a node to the lock or directory it names. */
#ifndef TREE_H
#define TREE_H

#include "kind.h"

/* The path of `name` below `dir` as locks are named: without the "queue/" or "wait/" in front. -ENAMETOOLONG. */
int tree_path(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX]);

/* The same as people know it, from the root of the mount on. */
int tree_show(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX]);

/*
 * What `name` below `dir` is: ATLOCK_PATH_DIR or ATLOCK_PATH_LOCK, or a negative errno. `*id` gets the directory of custom/
 * that it is, else NODE_NO_DIR.
 */
int tree_kind(struct call *call, const struct node *dir, const char *name, uint64_t *id);

/* The lock called `name` below `dir`. */
int tree_lock(struct call *call, const struct node *dir, const char *name, struct atlock_name *out);

/* Whether the caller may `want` (R_OK, W_OK, X_OK bits) a directory of custom/; everybody may all others. -EACCES. */
int tree_may(struct call *call, const struct node *dir, int want);

/*
 * Whether the caller may search all directories above a node, which no look-up has checked: it is open, and one of them may have been
 * closed since. -EACCES.
 */
int tree_may_see(struct call *call, const struct node *node);

/*
 * Whether the caller may search every directory above `dir`, where the kernel may have passed through one that was closed a
 * moment ago; see cache.h. At other times the lookup of each has checked that. -EACCES.
 */
int tree_reach(struct call *call, const struct node *dir);

/*
 * What the kernel finds in its cache it does not ask us for, so nobody would check who asks: what stands in a directory that
 * not everybody may search is looked up each time.
 */
void tree_limit_life(struct call *call, const struct node *dir, struct life *life);

/* Whether the caller may add to and remove from `dir`: only directories of custom/ have an opinion. */
int tree_may_change(struct call *call, const struct node *dir);

/* The same for removing something of this user's: the sticky bit leaves that to its owner or the directory's. -EPERM. */
int tree_may_remove(struct call *call, const struct node *dir, uid_t uid);

/* Attributes of a directory of queue/ or wait/: those of the one it mirrors, so that custom/'s modes hold there too. */
int tree_mirror_stat(struct call *call, uint64_t id, mode_t mode, struct stat *st, struct life *life);

#endif
