/* How a daemon left the data file. */
#ifndef STORE_LMDB_STAMP_H
#define STORE_LMDB_STAMP_H

#include <stdbool.h>

struct lmdb_dir;

/* Reads what owner.pid says; whether the data file is like that; and writes it, when that will not be written to any more. */
void lmdb_stamp_read(struct lmdb_dir *dir, int owner);
bool lmdb_stamp_fits(const struct lmdb_dir *dir);
void lmdb_stamp_write(const struct lmdb_dir *dir);

#endif
