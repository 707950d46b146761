/* SHA-256 of one contiguous text. Private to core/. */
#ifndef CORE_SHA256_H
#define CORE_SHA256_H

#include <stddef.h>

#define SHA256_BYTES 32

void sha256(const void *data, size_t len, unsigned char out[SHA256_BYTES]);

#endif
