#include "reads.h"

#include "arena.h"
#include "writes.h"

#include <stdlib.h>
#include <string.h>

#define READS_MIN ((size_t)32)

bool reads_find(const struct reads *reads, struct slice key, size_t *at)
{
	size_t low = 0;
	size_t high = reads->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = slice_compare(reads->list[middle].key, key);

		if (order == 0) {
			*at = middle;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*at = low;
	return false;
}

bool reads_insert(struct reads *reads, size_t at, struct slice key, uint64_t version, struct arena *arena)
{
	struct txn_read read = { .version = version };

	if (reads->count == reads->capacity) {
		size_t capacity = reads->capacity == 0 ? READS_MIN : reads->capacity * 2;
		struct txn_read *list = reallocarray(reads->list, capacity, sizeof(*list));

		if (list == NULL)
			return false;
		reads->list = list;
		reads->capacity = capacity;
	}
	if (!arena_copy(arena, key, &read.key))
		return false;
	memmove(reads->list + at + 1, reads->list + at, (reads->count - at) * sizeof(read));
	reads->list[at] = read;
	reads->count++;
	return true;
}
