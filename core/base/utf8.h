/* The length of UTF-8 characters. Private to core/. */
#ifndef CORE_UTF8_H
#define CORE_UTF8_H

#include <stddef.h>

/* Bytes of the UTF-8 character (RFC 3629) at `text`, or 0 if there is none. */
size_t utf8_len(const unsigned char *text, size_t len);

#endif
