#include "below.h"

#include <errno.h>
#include <string.h>

#include "place.h"

void below_start(struct below *below, const struct record_key *prefix, struct atlock_place *place)
{
	struct slice after = place_text(place, BELOW_PART);
	struct record_key last = *prefix;

	below->prefix = below->from = *prefix;
	below->place = place;
	if (after.len == 0 || after.len > sizeof(last.data) - last.len)
		return;
	memcpy(last.data + last.len, after.data, after.len);
	last.len += after.len;
	below->from = last.data[last.len - 1] == '/' ? record_key_after_prefix(record_key_slice(&last))
						     : record_key_after(record_key_slice(&last));
}

int below_next(struct op *op, struct below *below)
{
	size_t start = below->prefix.len;
	const char *text;
	const char *slash;
	size_t len;
	int rc = store_next(op->txn, record_key_slice(&below->from), record_key_slice(&below->prefix), &below->key,
			    &below->value);

	if (rc != 0)
		return rc;
	text = (const char *)below->key.data + start;
	slash = memchr(text, '/', below->key.len - start);
	len = slash != NULL ? (size_t)(slash - text) : below->key.len - start;
	if (len > ATLOCK_COMPONENT_MAX)
		return op_corrupt(op, below->key, -EBADMSG);
	memcpy(below->component, text, len);
	below->component[len] = '\0';
	below->directory = slash != NULL;
	below->from = below->directory ? record_key_after_prefix((struct slice){ below->key.data, start + len + 1 })
				       : record_key_after(below->key);
	place_set(below->place, BELOW_PART, (struct slice){ text, len + below->directory });
	return 0;
}
