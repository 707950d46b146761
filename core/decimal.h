/* Numbers in decimal, for texts that every call makes: printf(3) takes ten times as long. Private to core/. */
#ifndef CORE_DECIMAL_H
#define CORE_DECIMAL_H

#include <stdint.h>

#define DECIMAL_MAX 20 /* digits of the largest */

/* Writes the digits, and no NUL. Returns where they end. */
char *decimal_print(char *out, uint64_t value);

#endif
