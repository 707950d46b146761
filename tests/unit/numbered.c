#include "numbered.h"

#include "writes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct put {
	unsigned int number;
	size_t len; /* of the value, if it is to be longer than the number */
};

static struct slice key_of(unsigned int number, char key[16])
{
	(void)snprintf(key, 16, "k%08u", number);
	return slice_of(key);
}

/* Sets "n" to the number, adds a key for it and removes that of the one before the last. */
static int put_fn(struct store_txn *txn, void *arg)
{
	const struct put *put = arg;
	unsigned char *value = calloc(1, sizeof(put->number) + put->len);
	char key[16];

	if (value == NULL)
		return -ENOMEM;
	memcpy(value, &put->number, sizeof(put->number));
	int rc = store_put(txn, slice_of("n"), (struct slice){ value, sizeof(put->number) });
	if (rc == 0)
		rc = store_put(txn, key_of(put->number, key), (struct slice){ value, sizeof(put->number) + put->len });
	if (rc == 0)
		rc = store_del(txn, key_of(put->number - 2, key));
	free(value);
	return rc < 0 ? rc : 0;
}

int numbered_state_fn(struct store_txn *txn, void *arg)
{
	unsigned int number = 0;
	unsigned int found;
	struct slice value;
	struct slice key = slice_of("k");
	unsigned char next[STORE_KEY_MAX + 1];
	unsigned int count = 0;
	char due[16];

	(void)arg;
	if (store_get(txn, slice_of("n"), &value) != 0)
		return 0;
	memcpy(&number, value.data, sizeof(number));
	while (store_next(txn, key, slice_of("k"), &key, &value) == 0) {
		unsigned int expected = number - (number > 1) + count;

		memcpy(&found, value.data, sizeof(found));
		if (found != expected || slice_compare(key, key_of(expected, due)) != 0)
			return -EILSEQ;
		count++;
		memcpy(next, key.data, key.len);
		next[key.len] = 0;
		key = (struct slice){ next, key.len + 1 };
	}
	return count == (number > 1 ? 2 : 1) ? (int)number : -EILSEQ;
}

int numbered_put(struct store *store, unsigned int number, size_t len)
{
	return store_update(store, put_fn, &(struct put){ .number = number, .len = len });
}

int numbered_state(struct store *store)
{
	return store_view(store, numbered_state_fn, NULL);
}
