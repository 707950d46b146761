/* The %XX spelling of names: encodes, decodes, and checks for the one spelling by doing both. */
#include "escape.h"

#include <errno.h>
#include <string.h>

#include "why.h"

#define IN(field) (1U << (ESCAPE_##field))

/* The fields in which a byte must be escaped. */
static unsigned int marks(unsigned char c)
{
	switch (c) {
	case '%': return IN(PATH) | IN(LABEL) | IN(NAME) | IN(WHO) | IN(URL);
	case '/': return IN(LABEL) | IN(NAME) | IN(WHO) | IN(URL);
	case '@': return IN(LABEL) | IN(NAME) | IN(URL);
	case ':': return IN(LABEL);
	case '?':
	case '#':
	case ' ': return IN(URL);
	default: return c < 0x20 || c == 0x7f ? ~0U : 0;
	}
}

/* Components that have another meaning for the kernel or for the tree. */
static const struct reserved {
	const char *text;
	const char *spelled;
} reserved[] = {
	{ "-", "%2D" },
	{ ".", "%2E" },
	{ "..", "%2E%2E" },
};

static const char *reserved_spelling(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strlen(reserved[i].text) == len && memcmp(reserved[i].text, text, len) == 0)
			return reserved[i].spelled;
	return NULL;
}

static bool byte_escaped(enum escape_field field, unsigned char c)
{
	return (marks(c) >> field & 1U) != 0;
}

static int hex_value(char c)
{
	static const char digits[] = "0123456789ABCDEFabcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	if (!at)
		return -1;
	return at - digits < 16 ? (int)(at - digits) : (int)(at - digits) - 6;
}

int escape_encode(enum escape_field field, bool alone, const char *text, size_t len, char *out, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	const char *spelled = alone ? reserved_spelling(text, len) : NULL;
	size_t n = 0;

	if (spelled) {
		n = strlen(spelled);
		if (n >= size)
			return -ENAMETOOLONG;
		memcpy(out, spelled, n + 1);
		return (int)n;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		bool escaped = byte_escaped(field, c);

		if (n + (escaped ? 3 : 1) >= size)
			return -ENAMETOOLONG;
		if (escaped) {
			out[n++] = '%';
			out[n++] = hex[c >> 4];
			out[n++] = hex[c & 15];
		} else {
			out[n++] = text[i];
		}
	}
	if (n >= size)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return (int)n;
}

int escape_decode(const char *text, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%') {
			int high = i + 2 < len ? hex_value(text[i + 1]) : -1;
			int low = i + 2 < len ? hex_value(text[i + 2]) : -1;

			if (high < 0 || low < 0 || (high == 0 && low == 0))
				return -EINVAL;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (n + 1 >= size)
			return -ENAMETOOLONG;
		out[n++] = c;
	}
	if (n >= size)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return (int)n;
}

/* Whether the text needs no escape: most names need none, and then no comparison is necessary. */
static bool escape_plain(enum escape_field field, bool alone, const char *text, size_t len)
{
	if (len > ATLOCK_COMPONENT_MAX || (alone && reserved_spelling(text, len) != NULL))
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '/' || byte_escaped(field, (unsigned char)text[i]))
			return false;
	return true;
}

int escape_check(enum escape_field field, bool alone, const char *text, size_t len, struct atlock_why *why)
{
	char said[ATLOCK_COMPONENT_MAX + 1];
	char spelled[ESCAPE_SPELLED_MAX];
	int n;

	if (escape_plain(field, alone, text, len))
		return 0;
	n = escape_decode(text, len, said, sizeof(said));
	if (n == -ENAMETOOLONG)
		return why_set(why, n, ATLOCK_INVALID_REQUEST, "\"%.60s...\" is longer than %d bytes", text,
			       ATLOCK_COMPONENT_MAX);
	if (n < 0)
		return why_set(
			why, n, ATLOCK_INVALID_REQUEST,
			"\"%.*s\" has a %% that begins no escape: a %% itself is spelled %%25, and %%00 is nothing",
			(int)len, text);
	if (field == ESCAPE_PATH && memchr(said, '/', (size_t)n))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "\"%.*s\": in a repository or directory, '/' is spelled as it is", (int)len, text);
	n = escape_encode(field, alone, said, (size_t)n, spelled, sizeof(spelled));
	if (n < 0)
		return why_set(why, n, ATLOCK_INVALID_REQUEST, "\"%.60s...\" is too long", text);
	if ((size_t)n != len || memcmp(spelled, text, len) != 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "\"%.*s\" is spelled \"%s\"", (int)len, text,
			       spelled);
	return 0;
}
