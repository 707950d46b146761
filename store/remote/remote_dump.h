/*
 * A realm as a file: all keys as of one place in its history, for copies and for moving it.
 *
 *	"atlockfs realm 1\n"   id (16)   epoch (8)   revision (8)   tag (8)   how many keys (8)   CRC-32C (4)
 *
 * and for each key, in their order,
 *
 *	length of the key (2)   length of the value (4)   version (8)   key   value   CRC-32C (4)
 *
 * Numbers are little-endian; a sum is that of the bytes before it, back to the sum before.
 */
#ifndef STORE_REMOTE_DUMP_H
#define STORE_REMOTE_DUMP_H

#include "arena.h"
#include "remote_adapter.h"

struct dump_item {
	struct slice key;
	uint64_t version;
	struct slice value; /* data NULL: removed at that version */
	size_t order;       /* in which it was read: an entry may write a key twice */
};

struct dump {
	unsigned char id[REMOTE_ID];
	struct remote_at at;
	struct dump_item *items;
	size_t count;
	size_t room;
	struct arena arena; /* of keys and values */
};

/* 0 or -ENOMEM. To be freed in either case. */
int dump_init(struct dump *dump);
void dump_free(struct dump *dump);

/* A remote_scan_fn: adds a key to the dump that is its argument. */
int dump_add(void *arg, struct slice key, uint64_t version, struct slice value);

/* Orders them by key, and keeps the newest of each, without those that were removed. */
void dump_sort(struct dump *dump);

/* Reads a realm that others may write to meanwhile: 0, -ENOENT, -EAGAIN if its history was trimmed too soon, or a negative errno. */
int dump_take(struct dump *dump, struct remote_adapter *adapter);

/* Whether the realm has just these keys, and nothing else: 0, -EBADMSG if not, or a negative errno. */
int dump_compare(const struct dump *dump, struct remote_adapter *adapter);

/* A new file: -EEXIST. It is on disk afterwards, or not there. */
int dump_write(const struct dump *dump, const char *path);

/* -EBADMSG: it is damaged, or no such file. */
int dump_read(struct dump *dump, const char *path);

#endif
