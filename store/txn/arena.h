/* Memory that is given out in pieces, never moves, and is freed as a whole. */
#ifndef STORE_ARENA_H
#define STORE_ARENA_H

#include "slice.h"

#include <stdbool.h>

struct chunk;

struct arena {
	struct chunk *chunks; /* newest first; the last one is kept when the arena is emptied */
};

/* `size` is what the first chunk holds. False: no memory. */
bool arena_init(struct arena *arena, size_t size);
void arena_free(struct arena *arena);
void arena_empty(struct arena *arena);

/* A mark of how far the arena is filled; and the way back to it: what was allocated since is void. */
struct arena_mark {
	struct chunk *chunk;
	size_t used;
};

struct arena_mark arena_mark(const struct arena *arena);
void arena_return(struct arena *arena, struct arena_mark mark);

/* NULL: no memory. */
void *arena_take(struct arena *arena, size_t len);
bool arena_copy(struct arena *arena, struct slice from, struct slice *to);

#endif
