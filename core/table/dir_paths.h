/*
 * The paths of deep directories of custom/ that were printed last: to print one anew reads every directory above it. A directory is
 * never renamed and its number is never used again, so a path is valid as long as its directory exists, which the caller has looked
 * up. Any thread may call. Private to core/.
 */
#ifndef CORE_DIR_PATHS_H
#define CORE_DIR_PATHS_H

#include <stdint.h>

#include "slice.h"

struct dir_paths;

int dir_paths_new(struct dir_paths **out);
void dir_paths_free(struct dir_paths *paths);

/* Copies the path below custom/ to `out`: its length, or 0 if it is not known or has more than `len` bytes. */
size_t dir_paths_get(struct dir_paths *paths, uint64_t dir, char *out, size_t len);

/* Of a directory that is committed: another may get the number of one that is not. */
void dir_paths_put(struct dir_paths *paths, uint64_t dir, struct slice path);

#endif
