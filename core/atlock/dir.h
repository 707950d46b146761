/*
 * Directories of custom/: the only directories that users make. Other trees have virtual ones, which list.h lists.
 *
 * A directory is known by a number, its id, which is never used again; 0 is custom/ itself. A lock in it is named by
 * atlock_name_custom(). The library keeps owner, group and mode of a directory but checks no permission: the front end does.
 */
#ifndef ATLOCK_DIR_H
#define ATLOCK_DIR_H

#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/list.h"
#include "atlock/lock.h"

struct atlock_dir {
	uint64_t id;     /* 0: custom/ itself */
	uint64_t parent; /* id of the directory that it is in */
	uid_t uid;
	gid_t gid;
	mode_t mode;
	int64_t atime; /* these three: wall time, ns; reading a directory does not change atime */
	int64_t mtime;
	int64_t ctime;
	uint64_t subdirs;                    /* directories directly below */
	char name[ATLOCK_COMPONENT_MAX + 1]; /* in its parent */
};

/* A directory by its id, or by its name in another. -ENOENT; -EINVAL, -ENAMETOOLONG as atlock_component_check(). */
int atlock_dir_get(struct atlock *al, uint64_t id, struct atlock_dir *out);

/* The same for a listing: of a shared store it may be a second old, and costs no request to its engine unless it is not there. */
int atlock_dir_recent(struct atlock *al, uint64_t id, struct atlock_dir *out);

/* As atlock_dir_find(), a second old at most: one that was just made on another host may be missing. */
int atlock_dir_find_recent(struct atlock *al, uint64_t parent, const char *name, struct atlock_dir *out);
int atlock_dir_find(struct atlock *al, uint64_t parent, const char *name, struct atlock_dir *out);

/*
 * Makes a directory that belongs to the caller's uid and to `gid`. `out` may be NULL. -EEXIST: a directory or a lock has the
 * name. -ENOENT: the parent is gone. -EDQUOT: max_dirs is reached, or the store has no space. Bad names as above.
 */
int atlock_dir_make(struct atlock *al, uint64_t parent, const char *name, const struct atlock_caller *caller,
		    mode_t mode, gid_t gid, struct atlock_dir *out, struct atlock_why *why);

/* Removes one; for the manager itself if `caller` is NULL. -ENOENT. -ENOTDIR: a lock has the name. -ENOTEMPTY: it has a directory or a lock, also one that rests. */
int atlock_dir_remove(struct atlock *al, uint64_t parent, const char *name, const struct atlock_caller *caller,
		      struct atlock_why *why);

/* What to set: -1 in the field's type leaves it alone, INT64_MIN leaves a time alone. */
struct atlock_dir_change {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	int64_t atime; /* wall time, ns */
	int64_t mtime;
};

/* Sets what `change` gives; for the manager itself if `caller` is NULL. -ENOENT. -EAGAIN: rate_limit is reached. */
int atlock_dir_set(struct atlock *al, uint64_t id, const struct atlock_dir_change *change,
		   const struct atlock_caller *caller, struct atlock_why *why);

/* A listing (list.h): directories, then held locks directly below `dir`; one of the two pointers is not NULL. -ENOENT. */
typedef int atlock_dir_fn(void *arg, const struct atlock_dir *dir, const struct atlock_view *lock);
int atlock_dir_list(struct atlock *al, uint64_t dir, struct atlock_place *place, atlock_dir_fn *fn, void *arg);

#endif
