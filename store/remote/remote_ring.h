/* The newest entries of the history, in memory: what this host can give back to an engine that has lost them. */
#ifndef STORE_REMOTE_RING_H
#define STORE_REMOTE_RING_H

#include "remote_adapter.h"
#include "txn.h"

#define RING_ENTRIES 4096
#define RING_BYTES ((size_t)16 * 1024 * 1024)

struct ring {
	struct ring_entry {
		unsigned char *bytes;
		size_t len;
		uint64_t before; /* tag of the entry before it */
	} entries[RING_ENTRIES];
	size_t first;
	size_t count;
	size_t bytes;
};

void ring_init(struct ring *ring);
void ring_free(struct ring *ring);
void ring_empty(struct ring *ring);

/* Copies an entry. The oldest make room; without memory all go, since there must be no gap. */
void ring_add(struct ring *ring, struct slice entry);

/* Tag of the newest entry; 0 if there is none. */
uint64_t ring_end(const struct ring *ring);

/* Keeps the entries in a mirror that is closed, in its transaction; and takes them out again. Both may run again. 0 or a negative errno. */
int ring_save(const struct ring *ring, struct store_txn *txn);
int ring_load(struct ring *ring, struct store_txn *txn);

/* A copy, for the caller to free, of the entry that follows the one with this tag. 0, -ENODATA if it is not kept, or -ENOMEM. */
int ring_after(const struct ring *ring, uint64_t tag, struct slice *out);

#endif
