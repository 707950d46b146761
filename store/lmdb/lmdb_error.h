/* What an LMDB code means. */
#ifndef STORE_LMDB_ERROR_H
#define STORE_LMDB_ERROR_H

#include <stdbool.h>

struct engine;

/* An LMDB return code as a negative errno. */
int lmdb_errno(int rc);

/* Whether nothing works any more until the store is opened again. */
bool lmdb_is_dead(const struct engine *engine);

/* Whether an LMDB code may mean that there were no pages. */
bool lmdb_is_short(const struct engine *engine, int rc);

#endif
