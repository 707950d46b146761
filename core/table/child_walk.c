#include "child_walk.h"

#include <errno.h>
#include <string.h>

#include "place.h"

void child_walk_start(struct child_walk *walk, const struct record_key *prefix, struct atlock_place *place)
{
	struct slice after = place_text(place, CHILD_PART);
	struct record_key last = *prefix;

	walk->prefix = walk->from = *prefix;
	walk->place = place;
	if (after.len == 0 || after.len > sizeof(last.data) - last.len)
		return;
	memcpy(last.data + last.len, after.data, after.len);
	last.len += after.len;
	walk->from = last.data[last.len - 1] == '/' ? record_key_after_prefix(record_key_slice(&last))
						    : record_key_after(record_key_slice(&last));
}

int child_walk_next(struct op *op, struct child_walk *walk)
{
	size_t start = walk->prefix.len;
	const char *text;
	const char *slash;
	size_t len;
	int rc = store_next(op->txn, record_key_slice(&walk->from), record_key_slice(&walk->prefix), &walk->key,
			    &walk->value);

	if (rc != 0)
		return rc;
	text = (const char *)walk->key.data + start;
	slash = memchr(text, '/', walk->key.len - start);
	len = slash != NULL ? (size_t)(slash - text) : walk->key.len - start;
	if (len > ATLOCK_COMPONENT_MAX)
		return op_corrupt(op, walk->key, -EBADMSG);
	memcpy(walk->component, text, len);
	walk->component[len] = '\0';
	walk->directory = slash != NULL;
	walk->from = walk->directory ? record_key_after_prefix((struct slice){ walk->key.data, start + len + 1 })
				     : record_key_after(walk->key);
	place_set(walk->place, CHILD_PART, (struct slice){ text, len + walk->directory });
	return 0;
}
