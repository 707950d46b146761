#include "remote_entry.h"

#include "remote_bytes.h"

#include <errno.h>

#define REMOVED UINT32_MAX
#define WRITE_HEAD 6

size_t entry_write_size(const struct txn_write *write)
{
	return WRITE_HEAD + write->key.len + write->value.len;
}

unsigned char *entry_write_put(unsigned char *at, const struct txn_write *write)
{
	at = bytes_put(at, write->key.len, 2);
	at = bytes_put(at, write->value.data == NULL ? REMOVED : write->value.len, 4);
	at = bytes_put_slice(at, write->key);
	return bytes_put_slice(at, write->value);
}

unsigned char *entry_head_put(unsigned char *at, const struct entry_head *head)
{
	at = bytes_put(at, head->revision, 8);
	at = bytes_put(at, head->tag, 8);
	return bytes_put(at, head->before, 8);
}

bool entry_head_take(struct slice *entry, struct entry_head *out)
{
	return bytes_take(entry, 8, &out->revision) && bytes_take(entry, 8, &out->tag) &&
	       bytes_take(entry, 8, &out->before);
}

int entry_write_take(struct slice *entry, struct txn_write *out)
{
	uint64_t key;
	uint64_t value;

	if (entry->len == 0)
		return 1;
	if (!bytes_take(entry, 2, &key) || !bytes_take(entry, 4, &value) || key == 0 || key > STORE_KEY_MAX ||
	    !bytes_take_slice(entry, key, &out->key))
		return -EBADMSG;
	out->value = (struct slice){ .data = NULL, .len = 0 };
	return value == REMOVED || bytes_take_slice(entry, value, &out->value) ? 0 : -EBADMSG;
}
