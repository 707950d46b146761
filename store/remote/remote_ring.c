#include "remote_ring.h"

#include "remote_bytes.h"
#include "remote_entry.h"

#include <errno.h>
#include <stdlib.h>

/* Of the mirror's own: a NUL, "r", and the number of the entry, big-endian. */
#define KEY_LEN 6
static const struct slice key_prefix = { .data = "\0r", .len = 2 };

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

static const struct ring_entry *entry_at(const struct ring *ring, size_t i)
{
	return &ring->entries[(ring->first + i) % RING_ENTRIES];
}

uint64_t ring_end(const struct ring *ring)
{
	struct entry_head head = { .tag = 0 };

	if (ring->count > 0) {
		const struct ring_entry *newest = entry_at(ring, ring->count - 1);
		struct slice rest = { .data = newest->bytes, .len = newest->len };

		(void)entry_head_take(&rest, &head);
	}
	return head.tag;
}

int ring_save(const struct ring *ring, struct store_txn *txn)
{
	unsigned char key[KEY_LEN] = { 0, 'r' };
	size_t first = 0;
	int rc = 0;

	/* There must be no gap: those before one that a store cannot keep are left out with it. */
	for (size_t i = 0; i < ring->count; i++)
		if (entry_at(ring, i)->len > STORE_VALUE_MAX)
			first = i + 1;
	for (size_t i = first; i < ring->count && rc == 0; i++) {
		const struct ring_entry *entry = entry_at(ring, i);
		uint32_t number = htobe32((uint32_t)i);

		memcpy(key + 2, &number, sizeof(number));
		rc = store_put(txn, (struct slice){ .data = key, .len = sizeof(key) },
			       (struct slice){ .data = entry->bytes, .len = entry->len });
	}
	return rc;
}

int ring_load(struct ring *ring, struct store_txn *txn)
{
	struct slice from = key_prefix;
	struct slice value;
	int rc;

	ring_empty(ring);
	while ((rc = store_next(txn, from, key_prefix, &from, &value)) == 0) {
		ring_add(ring, value);
		rc = store_drop(txn, from);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

int ring_after(const struct ring *ring, uint64_t tag, struct slice *out)
{
	size_t i = ring->count;

	while (i > 0 && entry_at(ring, i - 1)->before != tag)
		i--;
	if (i == 0)
		return -ENODATA;
	const struct ring_entry *entry = entry_at(ring, i - 1);
	unsigned char *bytes = malloc(entry->len);
	if (bytes == NULL)
		return -ENOMEM;
	memcpy(bytes, entry->bytes, entry->len);
	*out = (struct slice){ .data = bytes, .len = entry->len };
	return 0;
}
