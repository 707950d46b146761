#include "redis_pack.h"

#include "remote_bytes.h"

#include <errno.h>
#include <stdlib.h>

#define ARENA_SIZE ((size_t)16 * 1024)

struct slice redis_field(struct arena *arena, struct slice key)
{
	unsigned char *bytes = arena_take(arena, key.len + 1);

	if (bytes == NULL)
		return (struct slice){ .data = NULL, .len = 0 };
	bytes[0] = 'k';
	memcpy(bytes + 1, key.data, key.len);
	return (struct slice){ .data = bytes, .len = key.len + 1 };
}

static int slice_order(const void *a, const void *b)
{
	return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* Every key of the commit once, in order: they are found by bisection, and become fields later. */
static size_t keys_collect(const struct remote_commit *commit, struct slice *keys)
{
	size_t count = 0;
	size_t kept = 0;

	for (size_t i = 0; i < commit->count; i++) {
		const struct remote_part *part = &commit->parts[i];

		for (size_t j = 0; j < part->compare_count; j++)
			keys[count++] = part->compares[j].key;
		for (size_t j = 0; j < part->write_count; j++)
			keys[count++] = part->writes[j]->key;
	}
	if (count > 0)
		qsort(keys, count, sizeof(*keys), slice_order);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || slice_compare(keys[kept - 1], keys[i]) != 0)
			keys[kept++] = keys[i];
	return kept;
}

/* The number of a key in the script, which counts from 1. */
static size_t key_index(const struct slice *keys, size_t count, struct slice key)
{
	const struct slice *found = bsearch(&key, keys, count, sizeof(*keys), slice_order);

	return (size_t)(found - keys) + 1;
}

/* Whether the key is not there before the part, as far as the part compares it. */
static bool is_new(const struct remote_part *part, struct slice key)
{
	for (size_t i = 0; i < part->compare_count; i++)
		if (slice_compare(part->compares[i].key, key) == 0)
			return part->compares[i].version == 0;
	return true;
}

bool redis_part_takes(const struct remote_part *part)
{
	size_t added = 0;
	size_t removed = 0;

	for (size_t i = 0; i < part->write_count; i++) {
		if (part->writes[i]->value.data == NULL)
			removed++;
		else if (is_new(part, part->writes[i]->key))
			added++;
	}
	return added > removed;
}

static void parts_put(struct redis_pack *pack, const struct remote_commit *commit, bool full, const struct slice *keys,
		      unsigned char *at)
{
	const unsigned char *begin = at;

	for (size_t i = 0; i < commit->count; i++) {
		const struct remote_part *part = &commit->parts[i];
		bool never = full && redis_part_takes(part);

		at = bytes_put(bytes_put(at, part->compare_count + never, 2), part->write_count, 2);
		if (never)
			at = bytes_put(bytes_put(at, 1, 2), UINT64_MAX, 8);
		for (size_t j = 0; j < part->compare_count; j++) {
			at = bytes_put(at, key_index(keys, pack->field_count, part->compares[j].key), 2);
			at = bytes_put(at, part->compares[j].version, 8);
		}
		for (size_t j = 0; j < part->write_count; j++) {
			const struct txn_write *write = part->writes[j];
			bool removed = write->value.data == NULL;

			if (!removed)
				pack->values[pack->value_count++] = write->value;
			at = bytes_put(at, key_index(keys, pack->field_count, write->key), 2);
			at = bytes_put(at, removed ? 0 : pack->value_count, 2);
		}
	}
	pack->parts = (struct slice){ .data = begin, .len = (size_t)(at - begin) };
}

int redis_pack(struct redis_pack *pack, const struct remote_commit *commit, bool full)
{
	size_t compares = 0;
	size_t writes = 0;

	*pack = (struct redis_pack){ .field_count = 0 };
	if (!arena_init(&pack->arena, ARENA_SIZE))
		return -ENOMEM;
	for (size_t i = 0; i < commit->count; i++) {
		compares += commit->parts[i].compare_count;
		writes += commit->parts[i].write_count;
	}
	struct slice *keys = arena_take(&pack->arena, (compares + writes + 1) * sizeof(*keys));
	pack->fields = arena_take(&pack->arena, (compares + writes + 1) * sizeof(*pack->fields));
	pack->values = arena_take(&pack->arena, (writes + 1) * sizeof(*pack->values));
	unsigned char *parts = arena_take(&pack->arena, 14 * commit->count + 10 * compares + 4 * writes + 1);
	if (keys == NULL || pack->fields == NULL || pack->values == NULL || parts == NULL)
		return -ENOMEM;
	pack->field_count = keys_collect(commit, keys);
	parts_put(pack, commit, full, keys, parts);
	for (size_t i = 0; i < pack->field_count; i++) {
		pack->fields[i] = redis_field(&pack->arena, keys[i]);
		if (pack->fields[i].data == NULL)
			return -ENOMEM;
	}
	return 0;
}

void redis_pack_free(struct redis_pack *pack)
{
	arena_free(&pack->arena);
}
