/* Reads, and the pool of read transactions. */
#ifndef STORE_LMDB_VIEW_H
#define STORE_LMDB_VIEW_H

#include "txn_run.h"

#include <bsd/sys/queue.h>
#include <lmdb.h>

struct engine;

/* One LMDB transaction as txn.c sees it, with the layer over it. A read transaction is reset after use and waits in the pool. */
struct lmdb_view {
	struct engine *engine;
	MDB_txn *txn;
	MDB_cursor *cursor;  /* opened by the first `next` */
	bool cursor_stale;   /* must be renewed before use in this run */
	struct slice at;     /* the key under the cursor, while it is not stale; NULL: none */
	struct layer *layer; /* over it */
	bool joined;         /* a readonly engine's: lmdb_readers_join() */
	struct store_txn *handle;
	SLIST_ENTRY(lmdb_view) link;
};

extern const struct txn_source lmdb_source; /* of a struct lmdb_view */

/* As store_view(). */
int lmdb_view(struct engine *engine, store_fn *fn, void *arg);

/*
 * Takes a read transaction from the pool, and returns it. Call with map_lock held shared, or by the leader. NULL, with
 * an LMDB code in `*error`, if none is available.
 */
struct lmdb_view *lmdb_view_take(struct engine *engine, int *error);
void lmdb_view_give(struct engine *engine, struct lmdb_view *view);
void lmdb_view_drain(struct engine *engine);

#endif
