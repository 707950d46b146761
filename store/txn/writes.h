/* A write set: writes in the order of their keys, laid over something that is read one key at a time. */
#ifndef STORE_WRITES_H
#define STORE_WRITES_H

#include "slice.h"

#include <stdbool.h>

/* One write of a write set: a value, or a removal when `value.data` is NULL. */
struct txn_write {
	struct slice key;
	struct slice value;
};

/* Writes in the order of their keys, one a key. */
struct writes {
	struct txn_write **list;
	size_t count;
};

/* Index of the first write whose key is >= `key`; `*same` says whether it is that key. */
size_t writes_find(const struct writes *writes, struct slice key, bool *same);

/*
 * First key >= `from` that begins with `prefix`, of the writes and of what lies below them together: 0, 1 (none) or a negative
 * errno. `next` reads what lies below, as the engine's function of that name. Each removal on the way
 * costs a call of `next`; those outside the prefix are not visited.
 */
typedef int next_fn(void *below, struct slice from, struct slice prefix, struct slice *key, struct slice *value);
int writes_next(const struct writes *writes, next_fn *next, void *below, struct slice from, struct slice prefix,
		struct txn_write *out);

/* As memcmp(); a prefix sorts before the keys that begin with it. */
int slice_compare(struct slice a, struct slice b);

#endif
