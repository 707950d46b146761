#include "owners_path.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "giturl.h"
#include "why.h"

#define TREE "owners"
#define OWNER "owner"

static const struct {
	const char *name;
	uint8_t byte;
} types[] = {
	[ATLOCK_APPLICATIONS] = { "applications", 'a' },
	[ATLOCK_CREDENTIALS] = { "credentials", 'c' },
};

uint8_t owners_type_byte(enum atlock_reference_type type)
{
	return types[type].byte;
}

/* The type of a byte; -1: none. */
static int type_of(uint8_t byte)
{
	for (int i = 0; i < ATLOCK_REFERENCE_TYPES; i++)
		if (types[i].byte == byte)
			return i;
	return -1;
}

const char *owners_type_name(enum atlock_reference_type type)
{
	return types[type].name;
}

int owners_key_split(struct slice key, struct reference_key *out)
{
	const char *url = (const char *)key.data + 1;
	const char *end = key.len > 1 ? memchr(url, '\0', key.len - 1) : NULL;
	size_t rest = end != NULL ? (size_t)((const char *)key.data + key.len - end) : 0;
	int type = rest > 2 ? type_of((uint8_t)end[1]) : -1;

	if (type < 0 || end == url || (size_t)(end - url) > ATLOCK_URL_MAX || rest - 2 > ATLOCK_COMPONENT_MAX)
		return -EBADMSG;
	out->url = (struct slice){ url, (size_t)(end - url) };
	out->type = (enum atlock_reference_type)type;
	out->id = (struct slice){ end + 2, rest - 2 };
	return 0;
}

void owners_path_print(const struct reference_key *key, char out[OWNERS_PATH_MAX])
{
	int n = snprintf(out, OWNERS_PATH_MAX, TREE "/%.*s", (int)key->url.len, (const char *)key->url.data);

	if (key->id.len > 0 && n > 0 && n < OWNERS_PATH_MAX)
		(void)snprintf(out + n, OWNERS_PATH_MAX - (size_t)n, "/-/%s/%.*s", types[key->type].name,
			       (int)key->id.len, (const char *)key->id.data);
}

/* Where the URL ends: at the "-" after it, or at the end of the path. */
static const char *url_end(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (path[len] == '\0' && !(len == 1 && path[0] == '-'))
			return path + len;
		if (len == 1 && path[0] == '-')
			return path;
		path += len + 1;
	}
}

static int id_parse(const char *id, struct atlock_owners_path *out, struct atlock_why *why)
{
	size_t len = strlen(id);
	int rc;

	if (strchr(id, '/') != NULL)
		return why_set(why, -ENOTDIR, ATLOCK_INVALID_REQUEST,
			       "a reference is a file: its id has no '/' (%%2F)");
	if (len > ATLOCK_COMPONENT_MAX)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "an id has at most %d bytes",
			       ATLOCK_COMPONENT_MAX);
	rc = escape_check(ESCAPE_WHO, true, id, len, why);
	if (rc < 0)
		return rc;
	if (strlen(out->url) + len > ATLOCK_KEY_MAX)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST,
			       "URL and id together have at most %d bytes: choose a shorter id", ATLOCK_KEY_MAX);
	out->kind = ATLOCK_OWNERS_REFERENCE;
	(void)strlcpy(out->id, id, sizeof(out->id));
	return 0;
}

/* Parses the part after "-/". */
static int rest_parse(const char *rest, struct atlock_owners_path *out, struct atlock_why *why)
{
	size_t len = strcspn(rest, "/");

	if (len == strlen(OWNER) && strncmp(rest, OWNER, len) == 0) {
		out->kind = ATLOCK_OWNERS_OWNER;
		return rest[len] == '\0' ? 0 : -ENOTDIR;
	}
	for (int i = 0; i < ATLOCK_REFERENCE_TYPES; i++) {
		if (strlen(types[i].name) != len || strncmp(rest, types[i].name, len) != 0)
			continue;
		out->kind = ATLOCK_OWNERS_TYPE;
		out->type = (enum atlock_reference_type)i;
		return rest[len] == '\0' ? 0 : id_parse(rest + len + 1, out, why);
	}
	return why_set(why, -ENOENT, ATLOCK_LOCK_NOT_FOUND,
		       "after \"-\" there are applications/, credentials/ and owner, nothing else");
}

int atlock_owners_parse(const char *path, struct atlock_owners_path *out, struct atlock_why *why)
{
	char text[ATLOCK_PATH_MAX];
	struct giturl url = { .whole = false };
	const char *end;
	size_t len;
	int rc = 0;

	if (path == NULL || out == NULL || strncmp(path, TREE, strlen(TREE)) != 0)
		return -ENOENT;
	memset(out, 0, sizeof(*out));
	path += strlen(TREE);
	if (path[0] == '\0')
		return 0;
	if (path++[0] != '/')
		return -ENOENT;
	end = url_end(path);
	len = (size_t)(end - path);
	if (len >= sizeof(text))
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "the path is too long");
	/* Drops this slash, so that giturl_parse() finds blanks at the end of the URL. */
	while (len > 0 && path[len - 1] == '/')
		len--;
	memcpy(text, path, len);
	text[len] = '\0';
	if (len > 0)
		rc = giturl_parse(text, &url, why);
	if (rc < 0)
		return rc;
	(void)strlcpy(out->prefix, url.prefix, sizeof(out->prefix));
	if (url.whole)
		(void)strlcpy(out->url, url.text, sizeof(out->url));
	if (end[0] == '\0')
		return 0;
	if (!url.whole)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "before \"-\" goes the URL of a repository: host and path, as in " TREE
			       "/https://github.com/acme/infra/-/applications/web");
	out->kind = ATLOCK_OWNERS_URL;
	return end[1] == '\0' ? 0 : rest_parse(end + 2, out, why);
}
