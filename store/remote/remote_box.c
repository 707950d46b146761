#include "remote_box.h"

#include "remote_bytes.h"

#include <errno.h>

#define FORMAT 1
#define KEY_LETTER 'b'

struct box_key box_key(uint16_t chain)
{
	return (struct box_key){ { KEY_LETTER, (unsigned char)(chain >> 8), (unsigned char)chain } };
}

struct slice box_key_slice(const struct box_key *key)
{
	return (struct slice){ .data = key->bytes, .len = sizeof(key->bytes) };
}

int box_chain(struct slice key)
{
	const unsigned char *bytes = key.data;

	return key.len == sizeof(struct box_key) && bytes[0] == KEY_LETTER ? bytes[1] << 8 | bytes[2] : -1;
}

size_t box_encode(const struct box *box, unsigned char out[static REMOTE_BOX_MAX])
{
	unsigned char *at = out;

	at = bytes_put(at, FORMAT, 1);
	at = bytes_put(at, box->incarnation, 8);
	at = bytes_put(at, box->instance, 8);
	at = bytes_put(at, box->commit, 8);
	at = bytes_put(at, box->timeout, 4);
	at = bytes_put(at, box->gone, 1);
	at = bytes_put(at, strlen(box->name), 1);
	at = bytes_put_slice(at, slice_of(box->name));
	return (size_t)(at - out);
}

size_t box_encode_whole(const struct box *box, unsigned char out[static REMOTE_BOX_MAX])
{
	size_t len = box_encode(box, out);

	memcpy(out + len, box->applied, box->part_count);
	return len + box->part_count;
}

int box_decode(struct slice bytes, struct box *out)
{
	struct slice rest = bytes;
	struct slice name;
	uint64_t format;
	uint64_t timeout;
	uint64_t gone;
	uint64_t len;

	memset(out, 0, sizeof(*out));
	if (!bytes_take(&rest, 1, &format) || format != FORMAT || !bytes_take(&rest, 8, &out->incarnation) ||
	    !bytes_take(&rest, 8, &out->instance) || !bytes_take(&rest, 8, &out->commit) ||
	    !bytes_take(&rest, 4, &timeout) || !bytes_take(&rest, 1, &gone) || !bytes_take(&rest, 1, &len) ||
	    len > BOX_NAME || !bytes_take_slice(&rest, len, &name) || rest.len > REMOTE_PARTS)
		return -EBADMSG;
	out->timeout = (uint32_t)timeout;
	out->gone = gone != 0;
	memcpy(out->name, name.data, name.len);
	out->part_count = rest.len;
	memcpy(out->applied, rest.data, rest.len);
	return 0;
}
