/* Numbers in decimal, for texts that every call makes: printf(3) takes ten times as long. Private to core/. */
#ifndef CORE_DECIMAL_H
#define CORE_DECIMAL_H

#include <stdint.h>
#include <string.h>

#define DECIMAL_MAX 20 /* digits of the largest */

/* "00" to "99" */
extern const char decimal_pairs[201];

/* Two digits of a number below 100. Returns where they end. */
static inline char *decimal_pair(char *out, uint32_t value)
{
	memcpy(out, decimal_pairs + (size_t)2 * value, 2);
	return out + 2;
}

/* Writes the digits, and no NUL. Returns where they end. */
char *decimal_print(char *out, uint64_t value);

#endif
