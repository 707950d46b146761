#include "giturl.h"

#include <arpa/inet.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "why.h"

#define BLANKS " \t\r\n\v\f"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static const struct scheme {
	const char *name;
	unsigned int port; /* default port */
} schemes[] = {
	{ "https", 443 },  { "http", 80 },    { "ssh", 22 },        { "git", 9418 },
	{ "git+ssh", 22 }, { "ssh+git", 22 }, { "git+https", 443 }, { "git+http", 80 },
};

/* A part of the input. */
struct piece {
	const char *at;
	size_t len;
};

static int refuse(struct atlock_why *why, const char *reason)
{
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "this is no Git URL: %s", reason);
}

static int refuse_long(struct atlock_why *why)
{
	return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST,
		       "a Git URL has at most %d bytes, and a part of it %d", ATLOCK_URL_MAX, ATLOCK_COMPONENT_MAX);
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is_control(text[i]))
			return true;
	return false;
}

static void piece_skip(struct piece *piece, size_t n)
{
	piece->at += n;
	piece->len -= n;
}

/* Number of bytes before the first of `marks`. */
static size_t piece_span(const struct piece *piece, const char *marks)
{
	size_t n = 0;

	while (n < piece->len && strchr(marks, piece->at[n]) == NULL)
		n++;
	return n;
}

static struct piece piece_trim(const char *text)
{
	struct piece piece = { text + strspn(text, BLANKS), 0 };

	piece.len = strlen(piece.at);
	while (piece.len > 0 && strchr(BLANKS, piece.at[piece.len - 1]) != NULL)
		piece.len--;
	return piece;
}

/*
 * Takes "https:" and the slashes after it off the front. One slash counts as two: in a file system path the other is
 * lost. Refuses a word that is no known scheme and no host of the "host:path" form, because such a URL has no host.
 */
static int scheme_take(struct piece *url, const struct scheme **out, struct atlock_why *why)
{
	size_t word = strspn(url->at, LETTERS DIGITS "+-");
	size_t slashes;

	*out = NULL;
	if (word == 0 || word >= url->len || url->at[word] != ':')
		return 0;
	slashes = strspn(url->at + word + 1, "/");
	if (slashes == 0 && word + 1 < url->len)
		return 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strlen(schemes[i].name) == word && strncasecmp(schemes[i].name, url->at, word) == 0)
			*out = &schemes[i];
	if (*out == NULL)
		return refuse(why, "it begins with none of https, http, ssh and git");
	if (slashes > 2)
		return refuse(why, "it has no host");
	piece_skip(url, word + 1 + slashes);
	return 0;
}

/*
 * Splits off the host and port before the path, and drops user and password. Without a scheme, "git@host:a/b" has a
 * path after the colon, and "host:4443/a/b" a port, as this module prints it: a number is a port only if there is no
 * user.
 */
static int authority_take(struct piece *url, bool scheme, struct piece *host, struct atlock_why *why)
{
	struct piece front = { url->at, piece_span(url, "/?#") };
	const char *at = memrchr(front.at, '@', front.len);
	const char *first = memchr(front.at, '@', front.len);
	const char *colon = memchr(front.at, ':', front.len);
	bool user = at != NULL;
	bool scp = false;
	size_t n;

	if (!scheme && at != first && colon != NULL && colon > first)
		return refuse(why, "it has more than one '@': spell those of a name %40");
	*host = front;
	if (user)
		piece_skip(host, (size_t)(at + 1 - front.at));
	n = host->len > 0 && host->at[0] == '[' ? piece_span(host, "]") : 0;
	colon = memchr(host->at + n, ':', host->len - n);
	if (!scheme && colon != NULL) {
		struct piece after = { colon + 1, (size_t)(host->at + host->len - colon - 1) };

		scp = user || after.len == 0 || strspn(after.at, DIGITS) < after.len;
		if (scp)
			host->len = (size_t)(colon - host->at);
	}
	piece_skip(url, (size_t)(host->at - url->at) + host->len + scp);
	return 0;
}

/*
 * Letters, digits, '-' and '_' in labels with single dots between them; no leading '-', which ssh takes for an option.
 */
static int host_plain(struct piece host, char *out, size_t size, struct atlock_why *why)
{
	if (host.len > 1 && host.at[host.len - 1] == '.')
		host.len--;
	if (host.len >= size)
		return refuse_long(why);
	for (size_t i = 0; i < host.len; i++) {
		char c = host.at[i];
		bool inside = i > 0 && i + 1 < host.len && out[i - 1] != '.';

		if (strchr(LETTERS DIGITS "_", c) == NULL && !(c == '-' && i > 0) && !(c == '.' && inside))
			return refuse(
				why,
				"its host has other bytes than letters, digits, '-', '_' and single dots (xn-- for others)");
		out[i] = (char)tolower((unsigned char)c);
	}
	out[host.len] = '\0';
	return 0;
}

static int host_ipv6(struct piece host, char *out, size_t size, struct atlock_why *why)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (host.len - 2 >= sizeof(text))
		return refuse(why, "what stands in [] is no IPv6 address");
	memcpy(text, host.at + 1, host.len - 2);
	text[host.len - 2] = '\0';
	if (inet_pton(AF_INET6, text, &address) != 1 || inet_ntop(AF_INET6, &address, text, sizeof(text)) == NULL)
		return refuse(why, "what stands in [] is no IPv6 address");
	(void)snprintf(out, size, "[%s]", text);
	return 0;
}

/* The port, or 0 if it is the default one. */
static int port_read(struct piece port, const struct scheme *scheme, unsigned int *out, struct atlock_why *why)
{
	char digits[16];
	const char *bad = NULL;
	long long number;

	*out = 0;
	if (port.len == 0)
		return 0;
	if (port.len >= sizeof(digits) || strspn(port.at, DIGITS) < port.len)
		return refuse(why, "its port is no number from 1 to 65535");
	memcpy(digits, port.at, port.len);
	digits[port.len] = '\0';
	number = strtonum(digits, 1, UINT16_MAX, &bad);
	if (bad != NULL)
		return refuse(why, "its port is no number from 1 to 65535");
	if (scheme == NULL || scheme->port != (unsigned int)number)
		*out = (unsigned int)number;
	return 0;
}

static int host_print(struct piece host, const struct scheme *scheme, char *out, size_t size, struct atlock_why *why)
{
	bool bracket = host.len > 0 && host.at[0] == '[';
	struct piece port = host;
	unsigned int number = 0;
	size_t name = bracket ? piece_span(&host, "]") + 1 : piece_span(&host, ":");
	size_t len;
	int rc;

	if (name == 0)
		return refuse(why, "it has no host");
	if (name > host.len || (name < host.len && host.at[name] != ':'))
		return refuse(why, "what stands in [] is no IPv6 address");
	piece_skip(&port, name);
	if (port.len > 0)
		piece_skip(&port, 1);
	host.len = name;
	rc = bracket ? host_ipv6(host, out, size, why) : host_plain(host, out, size, why);
	if (rc == 0)
		rc = port_read(port, scheme, &number, why);
	if (rc < 0 || number == 0)
		return rc;
	len = strlen(out);
	return snprintf(out + len, size - len, ":%u", number) < (int)(size - len) ? 0 : refuse_long(why);
}

/* Appends one component of the path: decoded, in lower case, in its one spelling. */
static int component_add(struct piece part, char *out, size_t *used, struct atlock_why *why)
{
	char said[ATLOCK_COMPONENT_MAX + 1];
	char spelled[ATLOCK_COMPONENT_MAX + 1];
	int n;

	if (piece_span(&part, "@?#") < part.len)
		return refuse(
			why,
			"there is a '@', '?' or '#' in its path: spell them %40, %3F, %23, and a '/' in a password %2F");
	if (part.len == 1 && part.at[0] == '-')
		return refuse(why, "a part of its path is \"-\": spell it %2D");
	n = escape_decode(part.at, part.len, said, sizeof(said));
	if (n == -ENAMETOOLONG)
		return refuse_long(why);
	if (n < 0)
		return refuse(why, "a '%' in it begins no escape: spell it %25");
	if (has_control(said, (size_t)n))
		return refuse(why, "there are control bytes in it");
	if (strcmp(said, ".") == 0)
		return 0;
	if (strcmp(said, "..") == 0)
		return refuse(why, "a part of its path is \"..\"");
	for (int i = 0; i < n; i++)
		said[i] = (char)tolower((unsigned char)said[i]);
	n = escape_encode(ESCAPE_URL, true, said, (size_t)n, spelled, sizeof(spelled));
	if (n < 0 || *used + 1 + (size_t)n > ATLOCK_URL_MAX)
		return refuse_long(why);
	out[(*used)++] = '/';
	memcpy(out + *used, spelled, (size_t)n + 1);
	*used += (size_t)n;
	return 0;
}

static int path_add(struct piece path, char *out, struct atlock_why *why)
{
	size_t used = strlen(out);
	int rc = 0;

	while (rc == 0 && path.len > 0) {
		struct piece part = { path.at, piece_span(&path, "/") };

		if (part.len > 0)
			rc = component_add(part, out, &used, why);
		piece_skip(&path, part.len + (part.len < path.len));
	}
	return rc;
}

/* Components with a special meaning: a name keeps its ".git" if it would become one of them. */
static bool is_reserved(const char *component)
{
	return strcmp(component, ".") == 0 || strcmp(component, "..") == 0 || strcmp(component, "-") == 0;
}

/* "a/b.git", "a/b.git.git" and "a/b/.git" become "a/b": the output must parse as itself. False if no path is left. */
static bool suffix_drop(char *url)
{
	char *last;
	size_t len;

	while ((last = strrchr(url, '/')) != NULL) {
		len = strlen(last);
		if (len < 5 || strcmp(last + len - 4, ".git") != 0)
			return true;
		last[len - 4] = '\0';
		if (is_reserved(last + 1)) {
			last[len - 4] = '.';
			return true;
		}
		if (last[1] == '\0')
			last[0] = '\0';
	}
	return false;
}

/* "codecommit::us-east-1://repository": a word and "::" before all else. */
static bool has_helper(struct piece url)
{
	size_t word = strspn(url.at, LETTERS DIGITS "+-._");

	return word > 0 && word + 2 <= url.len && url.at[word] == ':' && url.at[word + 1] == ':';
}

int giturl_parse(const char *text, struct giturl *out, struct atlock_why *why)
{
	struct piece url = piece_trim(text);
	const struct scheme *scheme;
	struct piece host = { NULL, 0 };
	int rc;

	out->whole = false;
	out->text[0] = out->prefix[0] = '\0';
	if (url.len == 0)
		return refuse(why, "it is empty");
	if (url.len >= ATLOCK_PATH_MAX)
		return refuse_long(why);
	if (has_control(url.at, url.len))
		return refuse(why, "there are control bytes in it");
	if (has_helper(url))
		return refuse(
			why,
			"what stands before \"::\" is a helper of git's, such as codecommit::, whose addresses have no "
			"one spelling: give the https or ssh URL of the repository");
	rc = scheme_take(&url, &scheme, why);
	if (rc < 0 || url.len == 0)
		return rc;
	rc = authority_take(&url, scheme != NULL, &host, why);
	if (rc == 0)
		rc = host_print(host, scheme, out->prefix, ATLOCK_COMPONENT_MAX + 1, why);
	if (rc == 0)
		rc = path_add(url, out->prefix, why);
	if (rc < 0)
		return rc;
	(void)strlcpy(out->text, out->prefix, sizeof(out->text));
	out->whole = suffix_drop(out->text);
	if (out->whole && giturl_host_rules(out->text) < 0)
		return refuse_long(why);
	return 0;
}

int atlock_url_normalise(const char *text, char out[ATLOCK_URL_MAX + 1], struct atlock_why *why)
{
	struct giturl url;
	int rc;

	if (text == NULL || out == NULL)
		return refuse(why, "none was given");
	rc = giturl_parse(text, &url, why);
	if (rc < 0)
		return rc;
	if (!url.whole)
		return refuse(why, url.prefix[0] == '\0' ? "it has no host" : "it has no path to a repository");
	(void)strlcpy(out, url.text, sizeof(url.text));
	return 0;
}
