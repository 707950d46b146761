/* URLs that people paste carry tokens: what stands before the host is never kept. */
#include <string.h>

#include "text.h"

static const char mark[] = "://";

size_t text_strip_userinfo(char *text, size_t len)
{
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

/* Whether what stands here is a host and goes on as a path does: "host:path", "host/path". */
static bool is_host(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && !strchr(":/@", text[n]))
		n++;
	return n > 0 && n < len && text[n] != '@';
}

size_t text_strip_scp(char *text, size_t len)
{
	const char *slash = memchr(text, '/', len);
	size_t end = slash ? (size_t)(slash - text) : len;
	size_t skip = 0;

	if (memmem(text, len, mark, strlen(mark)))
		return len;
	for (size_t i = 0; i < end; i++)
		if (text[i] == '@' && memchr(text, ':', i) && is_host(text + i + 1, len - i - 1))
			skip = i + 1;
	memmove(text, text + skip, len - skip);
	return len - skip;
}
