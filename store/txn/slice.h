/* Bytes that the slice does not own: keys and values. */
#ifndef STORE_SLICE_H
#define STORE_SLICE_H

#include <stddef.h>
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

#endif
