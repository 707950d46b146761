/* CRC-32C (Castagnoli), with the processor's instruction where it has one. */
#ifndef STORE_CRC32C_H
#define STORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t len);

#endif
