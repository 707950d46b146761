#include "arena.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE ((size_t)16 * 1024)

struct chunk {
	struct chunk *next;
	size_t size;
	size_t used;
	_Alignas(max_align_t) unsigned char bytes[];
};

static struct chunk *chunk_new(size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (chunk != NULL) {
		chunk->next = NULL;
		chunk->size = size;
		chunk->used = 0;
	}
	return chunk;
}

bool arena_init(struct arena *arena, size_t size)
{
	arena->chunks = chunk_new(size);
	return arena->chunks != NULL;
}

void *arena_take(struct arena *arena, size_t len)
{
	size_t rounded = (len + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
	struct chunk *chunk = arena->chunks;

	if (rounded > chunk->size - chunk->used) {
		chunk = chunk_new(rounded > CHUNK_SIZE ? rounded : CHUNK_SIZE);
		if (chunk == NULL)
			return NULL;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	void *taken = chunk->bytes + chunk->used;
	chunk->used += rounded;
	return taken;
}

bool arena_copy(struct arena *arena, struct slice from, struct slice *to)
{
	void *copy = arena_take(arena, from.len == 0 ? 1 : from.len);

	if (copy == NULL)
		return false;
	if (from.len != 0)
		memcpy(copy, from.data, from.len);
	*to = (struct slice){ .data = copy, .len = from.len };
	return true;
}

struct arena_mark arena_mark(const struct arena *arena)
{
	return (struct arena_mark){ .chunk = arena->chunks, .used = arena->chunks->used };
}

void arena_return(struct arena *arena, struct arena_mark mark)
{
	while (arena->chunks != mark.chunk) {
		struct chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		free(chunk);
	}
	mark.chunk->used = mark.used;
}

void arena_empty(struct arena *arena)
{
	struct chunk *first = arena->chunks;

	while (first->next != NULL)
		first = first->next;
	arena_return(arena, (struct arena_mark){ .chunk = first, .used = 0 });
}

void arena_free(struct arena *arena)
{
	arena_empty(arena);
	free(arena->chunks);
}
