/* Numbers as bytes, little-endian, one after the other. */
#ifndef STORE_REMOTE_BYTES_H
#define STORE_REMOTE_BYTES_H

#include "slice.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline unsigned char *bytes_put(unsigned char *at, uint64_t number, size_t width)
{
	number = htole64(number);
	memcpy(at, &number, width);
	return at + width;
}

static inline unsigned char *bytes_put_slice(unsigned char *at, struct slice from)
{
	if (from.len > 0)
		memcpy(at, from.data, from.len);
	return at + from.len;
}

/* Takes a number of `width` bytes from the beginning of `rest`; false if it is too short. */
static inline bool bytes_take(struct slice *rest, size_t width, uint64_t *out)
{
	uint64_t number = 0;

	if (rest->len < width)
		return false;
	memcpy(&number, rest->data, width);
	*out = le64toh(number);
	*rest = (struct slice){ .data = (const unsigned char *)rest->data + width, .len = rest->len - width };
	return true;
}

static inline bool bytes_take_slice(struct slice *rest, size_t len, struct slice *out)
{
	if (rest->len < len)
		return false;
	*out = (struct slice){ .data = rest->data, .len = len };
	*rest = (struct slice){ .data = (const unsigned char *)rest->data + len, .len = rest->len - len };
	return true;
}

#endif
