/*
 * Owner, group and mode of the directories of custom/ that were passed last.
 *
 * Nearly every call asks for those of one directory, some twice, and a look at the store each time would be most of what a
 * lookup costs. Only we change them, so what was read is good until the next change: whoever has made one says so before it is
 * answered (dir_access_changed), and all that was read before that, or began to be, is read again.
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

/* Those of a directory: 0, or -ENOENT and other errors of the store. */
int dir_access_get(struct call *call, uint64_t dir, struct dir_access *out);

/* One was changed or removed. */
void dir_access_changed(struct dir_access_cache *cache);

#endif
