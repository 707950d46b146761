/*
 * A table in chunks that never move, so that it can be read while it grows. A number is the slot in its lower bits and
 * a count of all numbers given so far above it: an outdated number differs from the one that its slot has now. The
 * memory of an empty chunk is given back, but its addresses stay mapped: an old number may still be looked up there,
 * and finds 0.
 */
#include "numbers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SLOT_BITS 26
#define CHUNK_BITS 12
#define CHUNK_SLOTS (1U << CHUNK_BITS)
#define CHUNKS (1U << (SLOT_BITS - CHUNK_BITS))
#define NO_SLOT CHUNK_SLOTS
#define NO_CHUNK CHUNKS

struct slot {
	_Atomic uint64_t id;  /* 0: free */
	_Atomic(void *) item; /* of a free slot: link to the next one */
};

struct chunk {
	_Atomic(struct slot *) slots; /* NULL: not needed yet */
	uint32_t used;
	uint32_t fresh; /* first slot not used since the chunk was last empty */
	uint32_t free;  /* first of the other free slots; NO_SLOT: none */
};

struct numbers {
	uint64_t count; /* numbers given so far */
	uint32_t open;  /* no chunk before this one has a free slot */
	uint32_t spare; /* an empty chunk that keeps its memory for the next numbers; NO_CHUNK: none */
	struct chunk chunks[CHUNKS];
};

struct numbers *numbers_new(void)
{
	struct numbers *numbers = calloc(1, sizeof(*numbers));

	if (numbers != NULL)
		numbers->spare = NO_CHUNK;
	return numbers;
}

#define CHUNK_BYTES (CHUNK_SLOTS * sizeof(struct slot))

void numbers_free(struct numbers *numbers)
{
	if (numbers == NULL)
		return;
	for (size_t i = 0; i < CHUNKS && numbers->chunks[i].slots != NULL; i++)
		munmap(numbers->chunks[i].slots, CHUNK_BYTES);
	free(numbers);
}

/* Chunks are begun in order. */
static bool chunk_begin(struct chunk *chunk)
{
	void *slots;

	if (chunk->slots != NULL)
		return true;
	slots = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return false;
	chunk->free = NO_SLOT;
	atomic_store_explicit(&chunk->slots, slots, memory_order_release);
	return true;
}

/* Takes a free slot of a chunk that has one. */
static uint32_t chunk_take(struct chunk *chunk)
{
	uint32_t at = chunk->free;

	chunk->used++;
	if (at == NO_SLOT)
		return chunk->fresh++;
	chunk->free = (uint32_t)(uintptr_t)atomic_load_explicit(&chunk->slots[at].item, memory_order_relaxed);
	return at;
}

int numbers_add(struct numbers *numbers, void *item, uint32_t *out)
{
	struct slot *slot;
	uint32_t at;

	while (numbers->open < CHUNKS && numbers->chunks[numbers->open].used == CHUNK_SLOTS)
		numbers->open++;
	if (numbers->open == CHUNKS || !chunk_begin(&numbers->chunks[numbers->open]))
		return -ENOMEM;
	if (numbers->spare == numbers->open)
		numbers->spare = NO_CHUNK;
	at = chunk_take(&numbers->chunks[numbers->open]);
	slot = &numbers->chunks[numbers->open].slots[at];
	*out = numbers->open << CHUNK_BITS | at;
	atomic_store_explicit(&slot->item, item, memory_order_relaxed);
	atomic_store_explicit(&slot->id, ++numbers->count << SLOT_BITS | *out, memory_order_release);
	return 0;
}

static void chunk_empty(struct numbers *numbers, uint32_t number)
{
	struct chunk *chunk = &numbers->chunks[number];

	if (numbers->spare == NO_CHUNK) {
		numbers->spare = number;
		return;
	}
	/* The pages read as zeros from now on. */
	if (madvise(chunk->slots, CHUNK_BYTES, MADV_DONTNEED) == 0) {
		chunk->fresh = 0;
		chunk->free = NO_SLOT;
	}
}

void numbers_remove(struct numbers *numbers, uint32_t at)
{
	uint32_t number = at >> CHUNK_BITS;
	struct chunk *chunk = &numbers->chunks[number];
	struct slot *slot = &chunk->slots[at & (CHUNK_SLOTS - 1)];

	atomic_store_explicit(&slot->id, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->item, (void *)(uintptr_t)chunk->free, memory_order_relaxed);
	chunk->free = at & (CHUNK_SLOTS - 1);
	if (number < numbers->open)
		numbers->open = number;
	if (--chunk->used == 0)
		chunk_empty(numbers, number);
}

static struct slot *slot_of(const struct numbers *numbers, uint32_t at)
{
	struct slot *slots = atomic_load_explicit(&numbers->chunks[at >> CHUNK_BITS].slots, memory_order_acquire);

	return slots == NULL ? NULL : &slots[at & (CHUNK_SLOTS - 1)];
}

uint64_t numbers_id(const struct numbers *numbers, uint32_t at)
{
	return atomic_load_explicit(&slot_of(numbers, at)->id, memory_order_relaxed);
}

/* The number is compared before and after the item is read: a slot that was given away meanwhile has another number. */
void *numbers_get(const struct numbers *numbers, uint64_t id)
{
	struct slot *slot = slot_of(numbers, (uint32_t)(id & ((1U << SLOT_BITS) - 1)));
	void *item;

	if (slot == NULL || id == 0 || atomic_load_explicit(&slot->id, memory_order_acquire) != id)
		return NULL;
	item = atomic_load_explicit(&slot->item, memory_order_acquire);
	return atomic_load_explicit(&slot->id, memory_order_relaxed) == id ? item : NULL;
}
