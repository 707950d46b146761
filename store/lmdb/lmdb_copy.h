/* A copy of the store while it is in use. */
#ifndef STORE_LMDB_COPY_H
#define STORE_LMDB_COPY_H

struct engine;

/* As store_copy(). */
int lmdb_copy(struct engine *engine, const char *to);

#endif
