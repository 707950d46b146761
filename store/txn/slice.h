/* Bytes that the slice does not own: keys and values. */
#ifndef STORE_SLICE_H
#define STORE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STORE_KEY_MAX 510             /* longest key, in bytes; the shortest is 1 */
#define STORE_VALUE_MAX (1024 * 1024) /* longest value */

struct slice {
	const void *data;
	size_t len;
};

/* A slice of a string, without its NUL. */
static inline struct slice slice_of(const char *text)
{
	return (struct slice){ .data = text, .len = strlen(text) };
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool slice_begins(struct slice text, struct slice prefix)
{
	return text.len >= prefix.len && (prefix.len == 0 || memcmp(text.data, prefix.data, prefix.len) == 0);
}

#define SLICE_HASH UINT64_C(0xcbf29ce484222325) /* the hash of no bytes */

/* FNV-1a, 64 bits: the hash of bytes that come after those hashed so far. */
static inline uint64_t slice_hash(uint64_t hash, struct slice bytes)
{
	const unsigned char *at = bytes.data;

	for (size_t i = 0; i < bytes.len; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
