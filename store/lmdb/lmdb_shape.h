/* What LMDB's tree and its list of free pages are like. */
#ifndef STORE_LMDB_SHAPE_H
#define STORE_LMDB_SHAPE_H

#include "lmdb_pages.h"

struct engine;

/* Fills in what is known at once; and counts the free pages, as far as `enough`. map_lock held shared, or by the leader. */
void lmdb_shape_look(struct engine *engine, struct lmdb_shape *out);
void lmdb_shape_count(struct engine *engine, struct lmdb_shape *shape, uint64_t enough);

#endif
