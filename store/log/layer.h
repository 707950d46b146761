/* What is committed and not LMDB's yet, in memory. */
#ifndef STORE_LAYER_H
#define STORE_LAYER_H

#include "arena.h"
#include "writes.h"

#include <stdatomic.h>
#include <stdint.h>

#define LAYER_CLASSES 32
#define LAYER_MAX 2048 /* writes, and pages of long values: each commit copies the list of them */

/*
 * Writes that are committed and not LMDB's yet, laid over its transaction `base`. Never changes.
 *
 * While the flusher makes a transaction of a layer, that layer is frozen, and commits go to a layer over it: a key is looked up in the
 * active layer, then in the frozen one, then in LMDB. The mark of the flusher's transaction is known beforehand. Both layers may lie on
 * that transaction as well: the frozen layer has the same values.
 */
struct layer {
	_Atomic unsigned int refs;
	struct layer_bytes *bytes; /* shared by all layers that came one after the other */
	uint64_t base;
	struct layer *frozen;         /* NULL: no flush runs */
	uint64_t next;                /* mark of the transaction that `frozen` becomes; 0: none */
	size_t overflow;              /* pages of values that do not fit a leaf */
	uint32_t ends[LAYER_CLASSES]; /* where the keys of each class end in `writes`; see key_class() */
	struct writes writes;
	size_t capacity; /* of the list */
	struct txn_write *list[];
};

/* An empty layer over LMDB's transaction `base`. NULL: no memory. One reference is the caller's. */
struct layer *layer_new(uint64_t base);
struct layer *layer_hold(struct layer *layer);
void layer_drop(struct layer *layer);

/* The newest write of a key, in the layer or in the frozen one; NULL: there is none. */
const struct txn_write *layer_get(const struct layer *layer, struct slice key);

/* How many writes both have together, and each of them: the frozen layer's first. A key may come twice. */
size_t layer_count(const struct layer *layer);
const struct txn_write *layer_at(const struct layer *layer, size_t i);

/* Pages of long values of both. */
size_t layer_overflow(const struct layer *layer);

/*
 * Where the bytes of all layers over one transaction are: by the leader only, as the next. A write that is not there yet is
 * copied to it. NULL: no memory.
 */
struct arena *layer_arena(const struct layer *layer);
struct txn_write *layer_copy_write(const struct layer *layer, const struct txn_write *write);

/* A new layer, `below` with `writes` on it, whose bytes are there. NULL: no memory. */
struct layer *layer_add(const struct layer *below, const struct writes *writes);

/* A new layer with the same writes, over the same frozen layer. By the leader only, as the next two. NULL: no memory. */
struct layer *layer_copy(const struct layer *layer);

/* A new, empty layer over this one, which becomes the frozen one: the flusher makes it the transaction with that mark. */
struct layer *layer_freeze(struct layer *layer, uint64_t mark);

/* A new layer with the same writes, over the transaction that the frozen layer has become. */
struct layer *layer_thaw(const struct layer *layer);

/*
 * Where the bytes of layers end now, and back to that: by the leader, when the layers made since have no reference. Otherwise a
 * disk that fails for long would fill the memory with what could not be committed.
 */
struct arena_mark layer_mark(const struct layer *layer);
void layer_return(const struct layer *layer, struct arena_mark mark);

#endif
