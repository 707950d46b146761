#include "remote_ring.h"

#include "remote_entry.h"

#include <errno.h>
#include <stdlib.h>

void ring_init(struct ring *ring)
{
	ring->first = ring->count = ring->bytes = 0;
}

static void drop_oldest(struct ring *ring)
{
	struct ring_entry *oldest = &ring->entries[ring->first];

	ring->bytes -= oldest->len;
	free(oldest->bytes);
	ring->first = (ring->first + 1) % RING_ENTRIES;
	ring->count--;
}

void ring_empty(struct ring *ring)
{
	while (ring->count > 0)
		drop_oldest(ring);
}

void ring_free(struct ring *ring)
{
	ring_empty(ring);
}

void ring_add(struct ring *ring, struct slice entry)
{
	struct slice rest = entry;
	struct entry_head head;
	unsigned char *bytes = malloc(entry.len);

	if (bytes == NULL || !entry_head_take(&rest, &head)) {
		free(bytes);
		ring_empty(ring);
		return;
	}
	memcpy(bytes, entry.data, entry.len);
	while (ring->count > 0 && (ring->count == RING_ENTRIES || ring->bytes + entry.len > RING_BYTES))
		drop_oldest(ring);
	ring->entries[(ring->first + ring->count) % RING_ENTRIES] = (struct ring_entry){ .bytes = bytes,
											 .len = entry.len,
											 .before = head.before };
	ring->count++;
	ring->bytes += entry.len;
}

int ring_since(const struct ring *ring, uint64_t tag, remote_entry_fn *each, void *arg)
{
	size_t i = ring->count;
	int rc = 0;

	while (i > 0 && ring->entries[(ring->first + i - 1) % RING_ENTRIES].before != tag)
		i--;
	if (i == 0)
		return -ENODATA;
	for (i--; rc == 0 && i < ring->count; i++) {
		const struct ring_entry *entry = &ring->entries[(ring->first + i) % RING_ENTRIES];

		rc = each(arg, (struct slice){ .data = entry->bytes, .len = entry->len });
	}
	return rc;
}
