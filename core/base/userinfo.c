#include "userinfo.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Length of the character at `text`, plain or as %XX, if it is one of `chars`; else 0. */
static size_t here(const char *text, size_t len, const char *chars)
{
	static const char digits[] = "0123456789ABCDEF";

	if (len == 0 || text[0] == '\0')
		return 0;
	if (strchr(chars, text[0]) != NULL)
		return 1;
	for (; len >= 3 && text[0] == '%' && *chars != '\0'; chars++)
		if (strncasecmp(text + 1, (char[]){ digits[*chars >> 4 & 15], digits[*chars & 15], '\0' }, 2) == 0)
			return 3;
	return 0;
}

static const char slash[] = "/\\";

/*
 * The offset behind the slashes that begin an authority: two or more slashes, or one after a colon, or with `more` one
 * right at `from`. `len` if there are none.
 */
static size_t authority_next(const char *text, size_t from, size_t len, bool more)
{
	for (size_t i = from; i < len;) {
		size_t n = i;
		size_t count = 0;
		size_t one;

		while ((one = here(text + n, len - n, slash)) > 0) {
			n += one;
			count++;
		}
		if (count > 1 || (count == 1 && (i == from ? more : text[i - 1] == ':')))
			return n;
		i = n > i ? n : i + 1;
	}
	return len;
}

/* The offset behind the last '@' before `end`; 0 if there is none. */
static size_t past_at(const char *text, size_t end)
{
	size_t past = 0;
	size_t i = 0;

	while (i < end) {
		size_t n = here(text + i, end - i, "@");

		i += n > 0 ? n : 1;
		if (n > 0)
			past = i;
	}
	return past;
}

/* A host, a colon and a port. A word and a number may also be a user and the start of a password. */
static bool is_host_and_port(const char *text, size_t len)
{
	size_t host = 0;
	size_t colon;

	if (len > 0 && text[0] == '[')
		return true;
	while (host < len && here(text + host, len - host, ":") == 0)
		host++;
	if (host == len)
		return true;
	if (memchr(text, '.', host) == NULL && !(host == 9 && strncasecmp(text, "localhost", 9) == 0))
		return false;
	colon = here(text + host, len - host, ":");
	for (size_t i = host + colon; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

/*
 * A word of a text, or all of it, and the offset behind its last '@'. Found once a word: a search at every slash would
 * take quadratic time.
 */
struct word {
	size_t end;
	size_t past_at;
};

static struct word word_at(const char *text, size_t from, size_t len, bool one)
{
	struct word word = { .end = from };
	size_t past;

	while (word.end < len &&
	       (one || ((unsigned char)text[word.end] > ' ' && strchr("\"'<>", text[word.end]) == NULL)))
		word.end++;
	past = past_at(text + from, word.end - from);
	word.past_at = past > 0 ? from + past : 0;
	return word;
}

/* Where the part of an authority that is kept begins. A password with a '/' in it looks like a host and a path. */
static size_t authority_keep(const char *text, size_t from, const struct word *word)
{
	size_t end = from;
	size_t keep;

	while (end < word->end && here(text + end, word->end - end, "/\\?#") == 0)
		end++;
	keep = from + past_at(text + from, end - from);
	if (word->past_at > keep && !is_host_and_port(text + keep, end - keep))
		keep = word->past_at;
	return keep;
}

static size_t strip_once(char *text, size_t len, bool one)
{
	struct word word = { .end = 0 };
	size_t in = 0;
	size_t out = 0;
	bool more = false;

	while (in < len) {
		size_t begin = authority_next(text, in, len, more);

		if (begin >= word.end)
			word = word_at(text, begin, len, one);
		memmove(text + out, text + in, begin - in);
		out += begin - in;
		in = authority_keep(text, begin, &word);
		more = true;
	}
	return out;
}

/* Repeats, because the remaining text may read as another URL. */
static size_t strip(char *text, size_t len, bool one)
{
	size_t left;

	while ((left = strip_once(text, len, one)) < len)
		len = left;
	return len;
}

size_t userinfo_strip(char *text, size_t len)
{
	return strip(text, len, false);
}

/* Whether the text begins with a host that a path follows ("host:path", "host/path") or, if `last`, nothing. */
static bool is_host(const char *text, size_t len, bool last)
{
	size_t n = 0;

	while (n < len && !strchr(":/@", text[n]))
		n++;
	return n > 0 && (n == len ? last : text[n] != '@');
}

/* Length of the part of "user:password@host:path" before the host. */
static size_t scp_skip(const char *text, size_t len)
{
	bool password = false; /* a colon was seen */
	bool user = false;     /* an '@' was seen before any colon: the text after the colon may be a path */
	bool path = false;
	size_t skip = 0;
	size_t i = 0;

	if (len >= 7 && strncasecmp(text, "mailto:", 7) == 0)
		return 0;
	while (i < len) {
		size_t n = here(text + i, len - i, ":@");
		bool colon = here(text + i, len - i, ":") > 0;

		path = path || here(text + i, len - i, slash) > 0;
		i += n > 0 ? n : 1;
		if (n == 0)
			continue;
		if (colon)
			password = true;
		else if (password && is_host(text + i, len - i, !path && !user))
			skip = i;
		else
			user = user || !password;
	}
	return skip;
}

static size_t strip_scp(char *text, size_t len)
{
	size_t skip;

	if (authority_next(text, 0, len, false) < len)
		return len;
	while ((skip = scp_skip(text, len)) > 0) {
		len -= skip;
		memmove(text, text + skip, len);
	}
	return len;
}

size_t userinfo_strip_address(char *text, size_t len)
{
	size_t left = len;

	do {
		len = left;
		left = strip_scp(text, strip(text, len, true));
	} while (left < len);
	return len;
}
