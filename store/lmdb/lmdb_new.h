/* The data file of a new store. */
#ifndef STORE_LMDB_NEW_H
#define STORE_LMDB_NEW_H

#include <stddef.h>

struct lmdb_dir;

/* Makes an empty data file in a directory that has none; `where` is its path. 0 or an LMDB code. */
int lmdb_data_make(const struct lmdb_dir *dir, const char *where, size_t map_size);

#endif
