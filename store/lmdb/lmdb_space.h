/* The map's growth, blocks allocated ahead, and when space is low. */
#ifndef STORE_LMDB_SPACE_H
#define STORE_LMDB_SPACE_H

#include "lmdb_pages.h"
#include "store_types.h"

#define LMDB_LIMIT_MIN ((uint64_t)512 * 1024)                /* least max_bytes that leaves space beside the reserve */
#define LMDB_LIMIT_MAX ((uint64_t)1024 * 1024 * 1024 * 1024) /* without a max_bytes: address space, not memory */

struct layer;
struct engine;

/* In pages. */
struct space {
	struct lmdb_shape shape;
	uint64_t ahead;          /* of the last used one, within the limit */
	uint64_t beyond_reserve; /* there are for what adds; 0: space is low */
	uint64_t all;            /* there are, once no reader has an older state */
	uint64_t promised;       /* bytes, and part of the reserve then */
	bool turn;               /* space is low only until the next transaction */
};

/* As store_space() and store_promise(). */
void lmdb_space(struct engine *engine, struct store_space *out);
void lmdb_promise(struct engine *engine, uint64_t bytes);

/* Doubles the map within the limit. By the leader, with no transaction open but its `reader`. -ENOSPC if that cannot be. */
int lmdb_map_grow(struct engine *engine);

/* Size of the map to open a data file of this size with. */
size_t lmdb_map_start(uint64_t max_bytes, uint64_t file_size);

/* Sets the limits and looks for the first time how much space there is. Once the environment is open. */
void lmdb_space_init(struct engine *engine, uint64_t max_bytes);

/* Whether LMDB is sure to have the pages for a layer beside the reserve, once no reader has an older state. */
bool lmdb_space_fits(struct engine *engine, const struct layer *layer);

/*
 * Whether it has them for a layer that is flushed while commits go on, and for as many again: at once, and without moving the
 * map. By the leader.
 */
bool lmdb_space_is_ample(struct engine *engine, const struct layer *layer);

/* Whether it has them, in pieces, for a log of so many bytes: with the reserve. */
bool lmdb_space_squeezes(struct engine *engine, size_t log_bytes);

/* Whether space is low only because the newest transaction gave pages up, which the next but one can use. */
bool lmdb_space_turns(struct engine *engine);

/* Space is low until it is looked at again: LMDB found no pages, for whatever reason. */
void lmdb_space_short(struct engine *engine);

/* Looks how much space is left after a commit. map_lock held shared, or by the leader. */
void lmdb_space_update(struct engine *engine);

#endif
