#include "redis_uri.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SCHEME "redis://"
#define PORT 6379

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

int redis_uri_part(const char *text, size_t n, char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (c == '%' && i + 2 < n && isxdigit((unsigned char)text[i + 1]) &&
		    isxdigit((unsigned char)text[i + 2])) {
			c = (char)(hex(text[i + 1]) << 4 | hex(text[i + 2]));
			i += 2;
		}
		if (c == '\0' || len + 1 >= size)
			return -1;
		out[len++] = c;
	}
	out[len] = '\0';
	return 0;
}

static int login_parse(const char *text, const char *end, struct redis_uri *out)
{
	const char *colon = memchr(text, ':', (size_t)(end - text));
	const char *user_end = colon == NULL ? end : colon;

	if (redis_uri_part(text, (size_t)(user_end - text), out->user, sizeof(out->user)) < 0)
		return -1;
	return colon == NULL
		       ? 0
		       : redis_uri_part(colon + 1, (size_t)(end - colon - 1), out->password, sizeof(out->password));
}

/* "host", "host:port", "[::1]:port". */
int redis_uri_host(const char *text, size_t len, char host[static 256], int *port)
{
	bool bracket = len > 0 && text[0] == '[';
	const char *end = text + len;
	const char *close = bracket ? memchr(text, ']', len) : memrchr(text, ':', len);
	const char *host_end = close == NULL ? end : close;
	const char *wrong = NULL;
	char number[8];

	if (bracket && close == NULL)
		return -1;
	text += bracket ? 1 : 0;
	if (redis_uri_part(text, (size_t)(host_end - text), host, 256) < 0 || host[0] == '\0')
		return -1;
	host_end += bracket ? 1 : 0;
	if (host_end == end)
		return 0;
	if (*host_end != ':' || redis_uri_part(host_end + 1, (size_t)(end - host_end - 1), number, sizeof(number)) < 0)
		return -1;
	*port = (int)strtonum(number, 1, 65535, &wrong);
	return wrong != NULL ? -1 : 0;
}

int redis_uri_parse(const char *text, struct redis_uri *out, char *error, size_t len)
{
	const char *from_env = getenv("ATLOCK_REDIS_PASSWORD");
	const char *at;
	const char *slash;
	const char *wrong = NULL;
	bool ok = strncmp(text, SCHEME, strlen(SCHEME)) == 0;

	memset(out, 0, sizeof(*out));
	text += ok ? strlen(SCHEME) : 0;
	slash = strchrnul(text, '/');
	at = memrchr(text, '@', (size_t)(slash - text));
	ok = ok && (at == NULL || login_parse(text, at, out) == 0);
	text = at == NULL ? text : at + 1;
	out->port = PORT;
	ok = ok && redis_uri_host(text, (size_t)(slash - text), out->host, &out->port) == 0;
	if (ok && slash[0] == '/' && slash[1] != '\0')
		out->db = (int)strtonum(slash + 1, 0, 1 << 20, &wrong);
	if (ok && out->password[0] == '\0' && from_env != NULL)
		strlcpy(out->password, from_env, sizeof(out->password));
	if (ok && wrong == NULL)
		return 0;
	explicit_bzero(out, sizeof(*out));
	snprintf(error, len, "a Redis is named redis://[user:password@]host[:port][/db], the db a number%s",
		 at != NULL ? "; '/' in a password is spelled %2F, '%' %25" : "");
	return -EINVAL;
}
