/*
 * Owner, group and mode of the directories of custom/ that were used last.
 *
 * Nearly every call needs those of one directory, some twice, and reading the store each time would be most of the cost
 * of a lookup. Only the daemon changes them, so an entry is valid until the next change: the thread that made a change
 * calls dir_access_changed() before it replies, and every entry read, or being read, before that is read again.
 *
 * Any thread may call.
 */
#ifndef DIR_ACCESS_CACHE_H
#define DIR_ACCESS_CACHE_H

#include "fs.h"

struct dir_access {
	uint64_t parent;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

struct dir_access_cache *dir_access_cache_new(void);
void dir_access_cache_free(struct dir_access_cache *cache);

/* 0, or a negative errno: -ENOENT or an error of the store. */
int dir_access_get(struct call *call, uint64_t dir, struct dir_access *out);

/*
 * Whether every user may search the directory and all above it: known only after dir_access_open() said so since the last change.
 * dir_access_changes() is to be read before the directories are, and given to dir_access_open().
 */
bool dir_access_is_open(struct call *call, uint64_t dir);
uint64_t dir_access_changes(const struct call *call);
void dir_access_open(struct call *call, uint64_t dir, uint64_t changes);

/* Call after a directory was changed or removed. */
void dir_access_changed(struct dir_access_cache *cache);

#endif
