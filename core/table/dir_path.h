/*
 * Directories of custom/, inside an operation's transaction. Private to core/.
 *
 * A directory is a record under its id and an entry under its parent's id and its name. The key of a lock consists of
 * the same two parts, so a key with an empty name stands for the directory itself. custom/ is directory 0: it always
 * exists, and has a record only once it was changed.
 */
#ifndef CORE_DIR_PATH_H
#define CORE_DIR_PATH_H

#include "op.h"

/*
 * The path of any lock, also in custom/, with a NUL: returns its length, or -ERANGE, -EIO. For people: a removed
 * directory is printed as '?', and if the whole path does not fit, its end follows "custom/-/", which no path begins
 * with.
 */
int dir_path(struct op *op, struct slice lock, char *out, size_t len);

/* An upper bound of the length of that path, which is much cheaper; or a negative errno. */
int dir_path_bound(struct op *op, struct slice lock);

/* The same for programs: -ERANGE if the path does not fit, -ENOENT if a directory was removed. */
int dir_path_whole(struct op *op, struct slice lock, char *out, size_t len);

/*
 * For a lock in custom/: -ENOENT if its directory does not exist, -EISDIR if a directory has its name. 0 for other
 * trees.
 */
int dir_check(struct op *op, struct slice lock);

/* Sets the mtime of the directory after a lock was added or removed in custom/. Does nothing for other trees. */
int dir_touch(struct op *op, struct slice lock);

/* The key of the lock `name` in a directory; with an empty name, the common prefix of all its locks. */
void dir_key(struct atlock_name *out, uint64_t dir, struct slice name);

/*
 * A directory's record, or its id by parent and name: 0 or 1 (none). The record read last is cached, because one
 * operation reads a lock's directory repeatedly; so only these functions may write and remove directories.
 */
int dir_load(struct op *op, uint64_t id, struct record_dir *out);
int dir_store(struct op *op, uint64_t id, const struct record_dir *record);
int dir_erase(struct op *op, uint64_t id);
int dir_entry(struct op *op, uint64_t parent, struct slice name, uint64_t *id);

/* The next directory id and the number of directories. */
int dir_counts(struct op *op, struct record_dirs *out);

void dir_fill(struct atlock_dir *out, uint64_t id, const struct record_dir *record);

#endif
