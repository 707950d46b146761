#include "decimal.h"

#include <string.h>

char *decimal_print(char *out, uint64_t value)
{
	char text[DECIMAL_MAX];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	memcpy(out, text + at, sizeof(text) - at);
	return out + sizeof(text) - at;
}
