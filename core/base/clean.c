/* Which characters of a text written by others may be shown to people unchanged. */
#include <string.h>

#include "atlock/program.h"
#include "utf8.h"

/* Non-ASCII characters that control terminals, change the direction of text, end lines or are invisible. */
static const uint32_t deceptive[][2] = {
	{ 0x0080, 0x009f },   /* C1 controls */
	{ 0x00ad, 0x00ad },   /* soft hyphen: visible only at the end of a line */
	{ 0x061c, 0x061c },   /* direction mark */
	{ 0x180e, 0x180e },   /* zero-width space */
	{ 0x200b, 0x200f },   /* zero-width spaces and joiners, direction marks */
	{ 0x2028, 0x202e },   /* line and paragraph separators, direction embeddings and overrides */
	{ 0x2060, 0x206f },   /* invisible operators, direction isolates */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xfff9, 0xfffb },   /* annotations */
	{ 0xe0000, 0xe007f }, /* tags */
};

static uint32_t code_point(const unsigned char *text, size_t len)
{
	uint32_t c = len == 1 ? text[0] : text[0] & (0x7fU >> len);

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (text[i] & 0x3fU);
	return c;
}

size_t atlock_clean_next(const char *text, size_t len, bool *clean)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t n = utf8_len(at, len);
	uint32_t c;

	*clean = n != 0 && at[0] >= ' ' && at[0] != 0x7f;
	if (n <= 1)
		return 1;
	c = code_point(at, n);
	for (size_t i = 0; i < sizeof(deceptive) / sizeof(deceptive[0]); i++)
		if (c >= deceptive[i][0] && c <= deceptive[i][1])
			*clean = false;
	return n;
}

static void bytes_spell(const char *text, size_t n, char *out)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)text[i];

		*out++ = '\\';
		*out++ = 'x';
		*out++ = hex[byte >> 4];
		*out++ = hex[byte & 15];
	}
}

size_t atlock_clean(const char *text, size_t len, char *out, size_t size)
{
	size_t end = 0; /* of the output */
	size_t used = 0;
	bool clean;
	size_t n;

	for (; len > 0; text += n, len -= n) {
		bool fits;

		n = atlock_clean_next(text, len, &clean);
		fits = end == used && used + (clean ? n : 4 * n) < size;
		if (fits && clean)
			memcpy(out + used, text, n);
		else if (fits)
			bytes_spell(text, n, out + used);
		used += clean ? n : 4 * n;
		if (fits)
			end = used;
	}
	if (size > 0)
		out[end] = '\0';
	return used;
}

void atlock_tame(char *text, size_t len)
{
	bool clean;
	size_t n;

	for (; len > 0; text += n, len -= n) {
		n = atlock_clean_next(text, len, &clean);
		for (size_t i = 0; !clean && i < n; i++)
			text[i] = '?';
	}
}
