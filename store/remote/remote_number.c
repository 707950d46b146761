#include "remote_number.h"

#include "remote_bytes.h"
#include "remote_mirror.h"

#include <errno.h>

#define LETTER 'n'
#define FLOOR "N"
#define SHARDS 0x7fff
#define SHARD_BITS 16
#define NUMBER_END (UINT64_C(1) << (53 - SHARD_BITS))

/* FNV-1a. */
static uint16_t shard_of(struct slice name)
{
	const unsigned char *bytes = name.data;
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ bytes[i]) * 16777619;
	return (uint16_t)((hash ^ hash >> 15) & SHARDS);
}

static int counter_decode(int rc, struct slice value, uint64_t *out)
{
	*out = 0;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return bytes_take(&value, 8, out) ? 0 : -EUCLEAN;
}

static int counter_get(struct store_txn *txn, struct slice key, uint64_t *out)
{
	struct slice value = { .data = NULL, .len = 0 };
	int rc = store_get(txn, key, &value);

	return counter_decode(rc, value, out);
}

int number_next(struct store_txn *txn, struct slice name, uint64_t *out)
{
	uint16_t shard = shard_of(name);
	const unsigned char bytes[] = { LETTER, (unsigned char)(shard >> 8), (unsigned char)shard };
	const struct slice key = { .data = bytes, .len = sizeof(bytes) };
	unsigned char next[8];
	uint64_t floor;
	uint64_t count;
	int rc = counter_get(txn, key, &count);

	if (rc == 0)
		rc = counter_get(txn, slice_of(FLOOR), &floor);
	if (rc < 0)
		return rc;
	count = (count > floor ? count : floor) + 1;
	if (count >= NUMBER_END)
		return -EOVERFLOW;
	(void)bytes_put(next, count, sizeof(next));
	*out = count << SHARD_BITS | shard;
	return store_put(txn, key, (struct slice){ .data = next, .len = sizeof(next) });
}

struct slice number_floor_key(void)
{
	return slice_of(FLOOR);
}

int number_floor_next(struct store_txn *mirror, uint64_t *out)
{
	unsigned char from[] = { LETTER, 0, 0, 0 };
	struct slice start = { .data = from, .len = 1 };
	struct slice value = { .data = NULL, .len = 0 };
	struct slice key;
	uint64_t highest;
	uint64_t count;
	int rc = counter_decode(mirror_get(mirror, slice_of(FLOOR), &value, NULL), value, &highest);

	if (rc < 0)
		return rc;
	while ((rc = mirror_next(mirror, start, (struct slice){ .data = from, .len = 1 }, &key, &value)) == 0) {
		rc = counter_decode(0, value, &count);
		if (rc < 0 || key.len != 3)
			return -EUCLEAN;
		highest = count > highest ? count : highest;
		/* The smallest key behind it. */
		memcpy(from, key.data, key.len);
		start.len = sizeof(from);
	}
	*out = highest + NUMBER_LEAP;
	return rc < 0 ? rc : 0;
}
