#include "utf8.h"

size_t utf8_len(const unsigned char *text, size_t len)
{
	unsigned char lead = text[0];
	unsigned char low =
		0x80; /* range of the second byte: excludes surrogates, code points above U+10FFFF and overlong forms */
	unsigned char high = 0xbf;
	size_t n;

	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	switch (lead) {
	case 0xe0: low = 0xa0; break;
	case 0xed: high = 0x9f; break;
	case 0xf0: low = 0x90; break;
	case 0xf4: high = 0x8f; break;
	default: break;
	}
	if (len < n || text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return n;
}
