/* Decimal numbers for texts that every call writes: printf(3) takes ten times as long. Private to core/. */
#ifndef CORE_DECIMAL_H
#define CORE_DECIMAL_H

#include <stdint.h>
#include <string.h>

#define DECIMAL_MAX 20 /* digits of UINT64_MAX */

/* "00" to "99" */
extern const char decimal_pairs[201];

/* Writes two digits of a number below 100. Returns the end of the output. */
static inline char *decimal_pair(char *out, uint32_t value)
{
	memcpy(out, decimal_pairs + (size_t)2 * value, 2);
	return out + 2;
}

/* Writes the digits without a NUL. Returns the end of the output. */
char *decimal_print(char *out, uint64_t value);

#endif
