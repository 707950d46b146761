/*
 * Directories of custom/, inside an operation's transaction. Private to core/.
 *
 * A directory is a record under its id and an entry under its parent's id and its name. The key of a lock is made of the
 * same two, so a key with an empty name stands for the directory itself. custom/ is directory 0: it is always there, and
 * has a record only once something about it changed.
 */
#ifndef CORE_DIR_PATH_H
#define CORE_DIR_PATH_H

#include "op.h"

/*
 * The path of any lock, also of custom/, with a NUL: its length, or -ERANGE, -EIO. It is for people: a directory that is
 * gone reads as '?', and where the whole path does not fit its end stands after "custom/-/", which no path begins with.
 */
int dir_path(struct op *op, struct slice lock, char *out, size_t len);

/* How long that path is at most, for much less; or a negative errno. */
int dir_path_bound(struct op *op, struct slice lock);

/* The same for programs: -ERANGE if the path does not fit, -ENOENT if one of its directories is gone. */
int dir_path_whole(struct op *op, struct slice lock, char *out, size_t len);

/* For a lock of custom/: -ENOENT if its directory is not there, -EISDIR if a directory has its name; 0 for other trees. */
int dir_check(struct op *op, struct slice lock);

/* A lock came into or went out of a directory of custom/: sets its mtime. Nothing for other trees. */
int dir_touch(struct op *op, struct slice lock);

/* The key of the lock `name` in a directory; with an empty name, what the keys of all its locks begin with. */
void dir_key(struct atlock_name *out, uint64_t dir, struct slice name);

/*
 * A directory's record, or its id by parent and name: 0 or 1 (none). The record that was read last is remembered, since a
 * lock's directory is asked for again and again: it is written and removed by these alone.
 */
int dir_load(struct op *op, uint64_t id, struct record_dir *out);
int dir_store(struct op *op, uint64_t id, const struct record_dir *record);
int dir_erase(struct op *op, uint64_t id);
int dir_entry(struct op *op, uint64_t parent, struct slice name, uint64_t *id);

/* Where ids of directories come from, and how many there are. */
int dir_counts(struct op *op, struct record_dirs *out);

void dir_fill(struct atlock_dir *out, uint64_t id, const struct record_dir *record);

#endif
