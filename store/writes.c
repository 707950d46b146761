/* Sorted writes laid over something that is read one key at a time. */
#include "engine.h"

#include <string.h>

int slice_compare(struct slice a, struct slice b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len == 0 ? 0 : memcmp(a.data, b.data, len);

	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

bool slice_begins(struct slice text, struct slice prefix)
{
	return text.len >= prefix.len && (prefix.len == 0 || memcmp(text.data, prefix.data, prefix.len) == 0);
}

struct slice slice_of(const char *text)
{
	return (struct slice){ .data = text, .len = strlen(text) };
}

size_t writes_find(const struct writes *writes, struct slice key, bool *same)
{
	size_t low = 0;
	size_t high = writes->count;

	*same = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = slice_compare(writes->list[middle]->key, key);

		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
			*same = *same || order == 0;
		}
	}
	return low;
}

int writes_next(const struct writes *writes, next_fn *next, void *below, struct slice from, struct txn_write *out)
{
	unsigned char after[STORE_KEY_MAX + 1];
	bool same;
	size_t i = writes_find(writes, from, &same);

	for (;;) {
		int order = -1;
		int rc = next(below, from, &out->key, &out->value);
		if (rc < 0)
			return rc;

		/* Pass by removals of keys that are not below: put and removed again up here. */
		for (; i < writes->count; i++) {
			if (rc == 0)
				order = slice_compare(writes->list[i]->key, out->key);
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

		/* The key below is removed: the smallest key after it is itself and a NUL. */
		memcpy(after, write->key.data, write->key.len);
		after[write->key.len] = 0;
		from = (struct slice){ .data = after, .len = write->key.len + 1 };
		i++;
	}
}
