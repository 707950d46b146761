/* URLs that people paste carry tokens: what stands before the host is never kept. */
#include <string.h>

#include "text.h"

size_t text_strip_userinfo(char *text, size_t len)
{
	static const char mark[] = "://";
	size_t in = 0;
	size_t out = 0;

	while (in < len) {
		const char *found = memmem(text + in, len - in, mark, strlen(mark));
		size_t begin = found ? (size_t)(found - text) + strlen(mark) : len;
		size_t end = begin;
		size_t skip = begin;

		memmove(text + out, text + in, begin - in);
		out += begin - in;
		/* The last '@' of the authority ends the user: a password may have one, too. */
		for (; end < len && (unsigned char)text[end] > ' ' && !strchr("/?#\"'<>", text[end]); end++)
			if (text[end] == '@')
				skip = end + 1;
		in = skip;
	}
	return out;
}
