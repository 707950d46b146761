#include "work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX (600 * 1024)

/* Keys in the order of their numbers, which fill pages, and keys all over, which change many. */
static const struct row {
	char first;
	unsigned int kept; /* the newest so many are there */
	unsigned int spread;
} rows[] = { { 'e', 300, 1 }, { 'r', 20, 2654435761U } };

#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct commit {
	unsigned int number;
	bool durable;
};

/* Some values need pages of their own, and some are too large for the log. */
static size_t value_len(unsigned int number)
{
	if (number % 211 == 0)
		return VALUE_MAX;
	return number % 37 == 0 ? (size_t)20 * 1024 : 150;
}

static struct slice value_of(unsigned int number, unsigned char *bytes)
{
	struct slice value = { .data = bytes, .len = value_len(number) };

	memset(bytes, 'a' + (int)(number % 26), value.len);
	return value;
}

static struct slice key_of(const struct row *row, unsigned int number, char key[16])
{
	(void)snprintf(key, 16, "%c%08x", row->first, number * row->spread);
	return slice_of(key);
}

static int row_write(struct store_txn *txn, const struct row *row, unsigned int number, unsigned char *bytes)
{
	char key[16];
	int rc = store_put(txn, key_of(row, number, key), value_of(number, bytes));

	if (rc == 0 && number > row->kept)
		rc = store_del(txn, key_of(row, number - row->kept, key));
	return rc == 1 ? -EILSEQ : rc;
}

static int commit_fn(struct store_txn *txn, void *arg)
{
	const struct commit *commit = arg;
	unsigned char *bytes = malloc(VALUE_MAX);
	int rc = bytes == NULL ? -ENOMEM : 0;

	if (rc == 0)
		rc = store_put(txn, slice_of("n"), (struct slice){ &commit->number, sizeof(commit->number) });
	for (size_t i = 0; rc == 0 && i < ROWS; i++)
		rc = row_write(txn, &rows[i], commit->number, bytes);
	if (commit->durable)
		store_txn_sync(txn);
	free(bytes);
	return rc;
}

int work_commit(struct store *store, unsigned int number, bool durable)
{
	return store_update(store, commit_fn, &(struct commit){ .number = number, .durable = durable });
}

/* The row's keys for that number are there, as many as there are, and no others. */
static int row_check(struct store_txn *txn, const struct row *row, unsigned int number, unsigned char *bytes)
{
	unsigned int first = number > row->kept ? number - row->kept + 1 : 1;
	struct slice prefix = { .data = &row->first, .len = 1 };
	unsigned char from[STORE_KEY_MAX + 1];
	struct slice next = prefix;
	struct slice value;
	struct slice key;
	unsigned int count = 0;
	char name[16];

	for (unsigned int i = first; i <= number; i++) {
		struct slice due = value_of(i, bytes);

		if (store_get(txn, key_of(row, i, name), &value) != 0 || value.len != due.len ||
		    memcmp(value.data, due.data, due.len) != 0)
			return -EILSEQ;
	}
	while (store_next(txn, next, prefix, &key, NULL) == 0) {
		memcpy(from, key.data, key.len);
		from[key.len] = 0;
		next = (struct slice){ .data = from, .len = key.len + 1 };
		count++;
	}
	return count == number - first + 1 ? 0 : -EILSEQ;
}

static int state_fn(struct store_txn *txn, void *arg)
{
	unsigned int number = 0;
	struct slice value;
	int rc = store_get(txn, slice_of("n"), &value);

	if (rc == 0 && value.len != sizeof(number))
		return -EILSEQ;
	if (rc == 0)
		memcpy(&number, value.data, sizeof(number));
	for (size_t i = 0; rc >= 0 && i < ROWS; i++)
		rc = row_check(txn, &rows[i], number, arg);
	return rc < 0 ? rc : (int)number;
}

int work_state(struct store *store)
{
	unsigned char *bytes = malloc(VALUE_MAX);

	if (bytes == NULL)
		return -ENOMEM;
	int rc = store_view(store, state_fn, bytes);
	free(bytes);
	return rc;
}
