/* The flush: what the log has becomes a transaction of LMDB. */
#ifndef STORE_LMDB_FLUSH_H
#define STORE_LMDB_FLUSH_H

#include <stdint.h>

struct layer;
struct engine;

/* One transaction that makes LMDB have a layer, with that mark. On any thread, one at a time. 0 or an LMDB code. */
int lmdb_flush_apply(struct engine *engine, const struct layer *layer, uint64_t mark);

/* Notes the result of a flush. By the leader. */
void lmdb_flush_note(struct engine *engine, int rc);

/* Makes LMDB have a layer, by one transaction. By the leader, as the next three. 0, or an LMDB code: then nothing has changed. */
int lmdb_flush_layer(struct engine *engine, const struct layer *layer);

/* Makes LMDB have all that is committed, in pieces if it must be. 0, or an LMDB code: then it may have a part of it. */
int lmdb_flush_all(struct engine *engine);

/* Makes this layer what is committed. */
void lmdb_publish(struct engine *engine, struct layer *layer);

#endif
