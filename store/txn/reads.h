/* A read set: the keys that a transaction function read, and their versions at that time. */
#ifndef STORE_READS_H
#define STORE_READS_H

#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct txn_read {
	struct slice key;
	uint64_t version; /* 0: the key was absent */
};

/* Reads in the order of their keys, one a key. */
struct reads {
	struct txn_read *list;
	size_t count;
	size_t capacity;
};

/* Whether `key` is in the set. `*at` is its index, or the index where reads_insert() puts it. */
bool reads_find(const struct reads *reads, struct slice key, size_t *at);

/* Adds a key that is not in the set, and copies it into `arena`. False: no memory. */
bool reads_insert(struct reads *reads, size_t at, struct slice key, uint64_t version, struct arena *arena);

#endif
