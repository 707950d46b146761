/* Reading the log. */
#ifndef STORE_LMDB_REPLAY_H
#define STORE_LMDB_REPLAY_H

#include <stdint.h>

struct layer;
struct lmdb_log;

/* Brings `*layer` up to what the log says about transaction `base`, going on from what was read before. -EUCLEAN: damaged. */
int lmdb_log_read(struct lmdb_log *log, uint64_t base, uint64_t mark, struct layer **layer);

#endif
