#include "remote_dump.h"

#include "remote_bytes.h"
#include "remote_entry.h"

#include <errno.h>
#include <stdlib.h>

#define ARENA_SIZE ((size_t)1024 * 1024)

int dump_init(struct dump *dump)
{
	*dump = (struct dump){ .count = 0 };
	return arena_init(&dump->arena, ARENA_SIZE) ? 0 : -ENOMEM;
}

void dump_free(struct dump *dump)
{
	free(dump->items);
	arena_free(&dump->arena);
}

int dump_add(void *arg, struct slice key, uint64_t version, struct slice value)
{
	struct dump *dump = arg;
	struct dump_item item = { .version = version, .order = dump->count };

	if (dump->count == dump->room) {
		size_t room = dump->room * 2 + 1024;
		struct dump_item *items = reallocarray(dump->items, room, sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		dump->items = items;
		dump->room = room;
	}
	if (!arena_copy(&dump->arena, key, &item.key) ||
	    (value.data != NULL && !arena_copy(&dump->arena, value, &item.value)))
		return -ENOMEM;
	dump->items[dump->count++] = item;
	return 0;
}

/* An entry that was made while the keys were read. */
static int entry_add(void *arg, struct slice entry)
{
	struct dump *dump = arg;
	struct entry_head head;
	struct txn_write write;
	int rc = entry_head_take(&entry, &head) ? 0 : -EBADMSG;

	/* One is missing in between. */
	if (rc == 0 && head.before != dump->at.tag)
		return -EAGAIN;
	while (rc == 0 && (rc = entry_write_take(&entry, &write)) == 0)
		rc = dump_add(dump, write.key, head.revision, write.value);
	if (rc < 0)
		return rc;
	dump->at.revision = head.revision;
	dump->at.tag = head.tag;
	return 0;
}

/* By key, the newest first. */
static int item_order(const void *a, const void *b)
{
	const struct dump_item *one = a;
	const struct dump_item *two = b;
	int order = slice_compare(one->key, two->key);

	if (order == 0)
		order = (one->version < two->version) - (one->version > two->version);
	return order != 0 ? order : (one->order < two->order) - (one->order > two->order);
}

void dump_sort(struct dump *dump)
{
	size_t kept = 0;

	if (dump->count > 0)
		qsort(dump->items, dump->count, sizeof(*dump->items), item_order);
	for (size_t i = 0; i < dump->count; i++) {
		struct dump_item *last = kept > 0 ? &dump->items[kept - 1] : NULL;

		if (last == NULL || slice_compare(last->key, dump->items[i].key) != 0)
			dump->items[kept++] = dump->items[i];
	}
	dump->count = 0;
	for (size_t i = 0; i < kept; i++)
		if (dump->items[i].value.data != NULL)
			dump->items[dump->count++] = dump->items[i];
}

int dump_take(struct dump *dump, struct remote_adapter *adapter)
{
	struct remote_welcome *welcome = calloc(1, sizeof(*welcome));
	int rc = welcome == NULL ? -ENOMEM : adapter->ops->hello(adapter, NULL, NULL, welcome);

	if (rc == 0) {
		memcpy(dump->id, welcome->id, sizeof(dump->id));
		dump->at = welcome->at;
		rc = adapter->ops->scan(adapter, dump_add, dump);
	}
	if (rc == 0)
		rc = adapter->ops->hello(adapter, NULL, NULL, welcome);
	if (rc == 0 && (welcome->at.epoch != dump->at.epoch || memcmp(welcome->id, dump->id, REMOTE_ID) != 0))
		rc = -EAGAIN;
	/* What was committed while the keys were read. */
	while (rc == 0 && dump->at.revision < welcome->at.revision) {
		uint64_t before = dump->at.revision;

		rc = adapter->ops->entries(adapter, REMOTE_LINE_COMMIT, &dump->at, 0, entry_add, dump);
		if (rc == 0 && dump->at.revision == before)
			rc = -EAGAIN;
	}
	if (rc == 0)
		dump_sort(dump);
	free(welcome);
	return rc;
}

int dump_compare(const struct dump *dump, struct remote_adapter *adapter)
{
	struct dump other;
	int rc = dump_init(&other);

	if (rc == 0)
		rc = adapter->ops->scan(adapter, dump_add, &other);
	if (rc == 0) {
		dump_sort(&other);
		rc = other.count == dump->count ? 0 : -EBADMSG;
	}
	for (size_t i = 0; rc == 0 && i < dump->count; i++) {
		const struct dump_item *one = &dump->items[i];
		const struct dump_item *two = &other.items[i];

		if (one->version != two->version || slice_compare(one->key, two->key) != 0 ||
		    slice_compare(one->value, two->value) != 0)
			rc = -EBADMSG;
	}
	dump_free(&other);
	return rc;
}
