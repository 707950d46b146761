/* Sorted writes laid over something that is read one key at a time. */
#include "writes.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Eight bytes as a number that sorts as they do. */
static inline uint64_t word_at(const unsigned char *bytes)
{
	uint64_t big;

	memcpy(&big, bytes, sizeof(big));
	return be64toh(big);
}

/*
 * Compares two keys whose first `*same` bytes are equal as slice_compare() does, and raises `*same` by the words that it found
 * equal. Keys are short and differ late: to compare words in place takes half the time of a call of memcmp().
 */
static inline int compare_from(struct slice a, struct slice b, size_t *same)
{
	const unsigned char *x = a.data;
	const unsigned char *y = b.data;
	size_t len = a.len < b.len ? a.len : b.len;
	size_t i = *same;

	for (; i + sizeof(uint64_t) <= len; i += sizeof(uint64_t)) {
		uint64_t p = word_at(x + i);
		uint64_t q = word_at(y + i);

		if (p != q) {
			*same = i;
			return p < q ? -1 : 1;
		}
	}
	*same = i;
	if (i < len && len > sizeof(uint64_t)) {
		uint64_t p = word_at(x + len - sizeof(p));
		uint64_t q = word_at(y + len - sizeof(q));

		if (p != q)
			return p < q ? -1 : 1;
		i = len;
	}
	for (; i < len; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return (a.len > b.len) - (a.len < b.len);
}

int slice_compare(struct slice a, struct slice b)
{
	size_t same = 0;

	return compare_from(a, b, &same);
}

/*
 * A key with a new number in it is usually the greatest: the search begins with the last write. All keys between two that share
 * a prefix with `key` have that prefix, too, so it is not compared again.
 */
size_t writes_find(const struct writes *writes, struct slice key, bool *same)
{
	size_t low = 0;
	size_t high = writes->count;
	size_t low_same = 0;
	size_t high_same = 0;
	size_t middle = high - 1;

	*same = false;
	while (low < high) {
		size_t begins = low_same < high_same ? low_same : high_same;
		int order = compare_from(writes->list[middle]->key, key, &begins);

		if (order == 0) {
			*same = true;
			return middle;
		}
		if (order < 0) {
			low = middle + 1;
			low_same = begins;
		} else {
			high = middle;
			high_same = begins;
		}
		middle = low + (high - low) / 2;
	}
	return low;
}

int writes_next(const struct writes *writes, next_fn *next, void *below, struct slice from, struct slice prefix,
		struct txn_write *out)
{
	unsigned char after[STORE_KEY_MAX + 1];
	bool same;
	size_t i = writes_find(writes, from, &same);

	for (;;) {
		int order = -1;
		int rc = next(below, from, prefix, &out->key, &out->value);
		if (rc < 0)
			return rc;

		/* Skip removals of keys that the engine has not: this transaction put and removed them. */
		for (; i < writes->count; i++) {
			if (rc == 0)
				order = slice_compare(writes->list[i]->key, out->key);
			else if (!slice_begins(writes->list[i]->key, prefix))
				return 1;
			if (order >= 0 || writes->list[i]->value.data != NULL)
				break;
		}
		if (i == writes->count)
			return rc;
		if (order > 0)
			return 0;

		const struct txn_write *write = writes->list[i];
		if (write->value.data != NULL) {
			*out = *write;
			return 0;
		}

		/* The engine's key is removed: continue with the smallest key after it, which is that key and a NUL. */
		memcpy(after, write->key.data, write->key.len);
		after[write->key.len] = 0;
		from = (struct slice){ .data = after, .len = write->key.len + 1 };
		i++;
	}
}
