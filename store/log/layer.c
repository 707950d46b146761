/*
 * Layers: what has been committed since LMDB's last transaction, in memory, laid over LMDB. A layer never changes. A commit
 * makes the next one, which shares keys and values with it; readers keep the one they began with.
 */
#include "layer.h"

#include "lmdb_pages.h"
#include "writes.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_SIZE ((size_t)16 * 1024)
#define PAGE_LEAST 4096
#define CAPACITY_STEP 256

/* Keys and values of layers that came one after the other. Only the leader adds to it. */
struct layer_bytes {
	_Atomic unsigned int refs;
	_Atomic(struct layer *) spare; /* the last layer that was dropped: its memory is for the next */
	struct arena arena;
};

static struct layer *layer_allocate(struct layer_bytes *bytes, size_t capacity)
{
	struct layer *layer = atomic_exchange(&bytes->spare, NULL);

	if (layer != NULL && layer->capacity >= capacity)
		return layer;
	free(layer);
	capacity = (capacity + CAPACITY_STEP - 1) / CAPACITY_STEP * CAPACITY_STEP;
	layer = malloc(sizeof(*layer) + capacity * sizeof(layer->list[0]));
	if (layer != NULL)
		layer->capacity = capacity;
	return layer;
}

static struct layer *layer_make(struct layer_bytes *bytes, uint64_t base, size_t capacity)
{
	struct layer *layer = layer_allocate(bytes, capacity);

	if (layer == NULL)
		return NULL;
	atomic_init(&layer->refs, 1);
	atomic_fetch_add(&bytes->refs, 1);
	layer->bytes = bytes;
	layer->base = base;
	layer->frozen = NULL;
	layer->next = 0;
	layer->overflow = 0;
	memset(layer->ends, 0, sizeof(layer->ends));
	layer->writes = (struct writes){ .list = layer->list, .count = 0 };
	return layer;
}

static void bytes_drop(struct layer_bytes *bytes)
{
	if (atomic_fetch_sub(&bytes->refs, 1) == 1) {
		free(atomic_load(&bytes->spare));
		arena_free(&bytes->arena);
		free(bytes);
	}
}

/* One reference is the caller's. */
static struct layer_bytes *bytes_new(void)
{
	struct layer_bytes *bytes = malloc(sizeof(*bytes));

	if (bytes == NULL)
		return NULL;
	atomic_init(&bytes->refs, 1);
	atomic_init(&bytes->spare, NULL);
	if (!arena_init(&bytes->arena, ARENA_SIZE)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

struct layer *layer_new(uint64_t base)
{
	struct layer_bytes *bytes = bytes_new();

	if (bytes == NULL)
		return NULL;
	struct layer *layer = layer_make(bytes, base, 0);
	bytes_drop(bytes);
	return layer;
}

struct layer *layer_hold(struct layer *layer)
{
	atomic_fetch_add(&layer->refs, 1);
	return layer;
}

void layer_drop(struct layer *layer)
{
	if (layer != NULL && atomic_fetch_sub(&layer->refs, 1) == 1) {
		struct layer_bytes *bytes = layer->bytes;

		layer_drop(layer->frozen);
		free(atomic_exchange(&bytes->spare, layer));
		bytes_drop(bytes);
	}
}

struct arena *layer_arena(const struct layer *layer)
{
	return &layer->bytes->arena;
}

struct arena_mark layer_mark(const struct layer *layer)
{
	return arena_mark(&layer->bytes->arena);
}

void layer_return(const struct layer *layer, struct arena_mark mark)
{
	arena_return(&layer->bytes->arena, mark);
}

struct txn_write *layer_copy_write(const struct layer *layer, const struct txn_write *write)
{
	struct arena *arena = layer_arena(layer);
	struct txn_write *copy = arena_take(arena, sizeof(*copy));

	if (copy == NULL || !arena_copy(arena, write->key, &copy->key))
		return NULL;
	copy->value = (struct slice){ .data = NULL, .len = 0 };
	if (write->value.data != NULL && !arena_copy(arena, write->value, &copy->value))
		return NULL;
	return copy;
}

static size_t write_overflow(const struct txn_write *write)
{
	return lmdb_pages_of_value(PAGE_LEAST, write->key.len, write->value.len);
}

/* Which of `ends` a key belongs to. In the order of keys, for every first byte; letters have one each, because tables begin with them. */
static size_t key_class(struct slice key)
{
	unsigned char first = *(const unsigned char *)key.data;

	if (first < 'a')
		return 0;
	return first - 'a' + 1 < LAYER_CLASSES ? (size_t)(first - 'a' + 1) : LAYER_CLASSES - 1;
}

/* As writes_find(), among the keys of the same table. */
static size_t layer_find(const struct layer *layer, struct slice key, bool *same)
{
	size_t class = key_class(key);
	size_t from = class == 0 ? 0 : layer->ends[class - 1];
	struct writes table = { .list = layer->writes.list + from, .count = layer->ends[class] - from };

	return from + writes_find(&table, key, same);
}

const struct txn_write *layer_get(const struct layer *layer, struct slice key)
{
	bool same = false;

	for (; layer != NULL; layer = layer->frozen) {
		size_t at = layer_find(layer, key, &same);

		if (same)
			return layer->writes.list[at];
	}
	return NULL;
}

size_t layer_count(const struct layer *layer)
{
	return layer->writes.count + (layer->frozen == NULL ? 0 : layer->frozen->writes.count);
}

const struct txn_write *layer_at(const struct layer *layer, size_t i)
{
	size_t frozen = layer_count(layer) - layer->writes.count;

	return i < frozen ? layer->frozen->writes.list[i] : layer->writes.list[i - frozen];
}

size_t layer_overflow(const struct layer *layer)
{
	return layer->overflow + (layer->frozen == NULL ? 0 : layer->frozen->overflow);
}

/* Copies `count` writes of the lower layer. */
static void list_append(struct layer *to, struct txn_write *const *from, size_t count)
{
	memcpy(to->list + to->writes.count, from, count * sizeof(struct txn_write *));
	to->writes.count += count;
}

/* An empty layer with capacity for the writes of another and more, and what is said about all of them. */
static struct layer *layer_like(const struct layer *below, size_t more)
{
	struct layer *layer = layer_make(below->bytes, below->base, below->writes.count + more);

	if (layer == NULL)
		return NULL;
	layer->frozen = below->frozen == NULL ? NULL : layer_hold(below->frozen);
	layer->next = below->next;
	layer->overflow = below->overflow;
	memcpy(layer->ends, below->ends, sizeof(layer->ends));
	return layer;
}

struct layer *layer_add(const struct layer *below, const struct writes *writes)
{
	const struct writes *old = &below->writes;
	struct layer *layer = layer_like(below, writes->count);
	size_t done = 0; /* of the old ones */

	if (layer == NULL)
		return NULL;
	for (size_t i = 0; i < writes->count; i++) {
		const struct txn_write *write = writes->list[i];
		bool same;
		size_t at = layer_find(below, write->key, &same);

		list_append(layer, old->list + done, at - done);
		list_append(layer, &writes->list[i], 1);
		layer->overflow += write_overflow(write);
		if (same)
			layer->overflow -= write_overflow(old->list[at]);
		for (size_t class = same ? LAYER_CLASSES : key_class(write->key); class < LAYER_CLASSES; class ++)
			layer->ends[class]++;
		done = at + same;
	}
	list_append(layer, old->list + done, old->count - done);
	return layer;
}

struct layer *layer_copy(const struct layer *layer)
{
	struct layer *copy = layer_like(layer, 0);

	if (copy != NULL)
		list_append(copy, layer->writes.list, layer->writes.count);
	return copy;
}

struct layer *layer_freeze(struct layer *layer, uint64_t mark)
{
	struct layer *active = layer_new(layer->base);

	if (active == NULL)
		return NULL;
	active->frozen = layer_hold(layer);
	active->next = mark;
	return active;
}

struct layer *layer_thaw(const struct layer *layer)
{
	struct layer *thawed = layer_copy(layer);

	if (thawed == NULL)
		return NULL;
	layer_drop(thawed->frozen);
	thawed->frozen = NULL;
	thawed->next = 0;
	thawed->base++;
	return thawed;
}
