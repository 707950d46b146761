#include "decimal.h"

const char decimal_pairs[201] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
				"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
				"8081828384858687888990919293949596979899";

static size_t digits(uint64_t value)
{
	size_t count = 1;

	for (; value >= 10000; value /= 10000)
		count += 4;
	return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

char *decimal_print(char *out, uint64_t value)
{
	char *end = out + digits(value);
	char *at = end;

	for (; value >= 100; value /= 100) {
		at -= 2;
		decimal_pair(at, (uint32_t)(value % 100));
	}
	if (value >= 10)
		decimal_pair(at - 2, (uint32_t)value);
	else
		at[-1] = (char)('0' + value);
	return end;
}
