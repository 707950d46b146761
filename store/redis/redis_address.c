#include "redis_address.h"

#include "engine_refuse.h"
#include "redis_uri.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORT 6379
#define SENTINEL_PORT 26379
#define HISTORY_MIN 1000

/* A scheme, and how its addresses are written. */
struct form {
	const char *scheme;
	bool sentinel;
	const char *shape;
};

static const struct form forms[] = {
	{ "redis://", false, "redis://[user@]host[:port][,host...][/db]?realm=NAME" },
	{ "redis+sentinel://", true, "redis+sentinel://[user@]host[:port][,host...]/MASTER[/db]?realm=NAME" },
};

/* An address that is being read, and where to say what is wrong with it. */
struct reading {
	const struct form *form;
	struct redis_address *out;
	char *why;
	size_t whylen;
};

static const struct form *form_find(const char *text)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strncmp(text, forms[i].scheme, strlen(forms[i].scheme)) == 0)
			return &forms[i];
	return NULL;
}

bool redis_address_is(const char *text)
{
	return form_find(text) != NULL;
}

static int refuse_shape(const struct reading *r)
{
	return store_refuse(r->why, r->whylen, -EINVAL, "a realm is named %s", r->form->shape);
}

/* The first line of a file that others cannot read. */
static int password_read(const struct reading *r, const char *path, char out[static REDIS_PASSWORD])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = { .st_mode = 0 };
	ssize_t len = -1;
	int err = fd < 0 || fstat(fd, &st) < 0 ? errno : 0;
	bool open_to_others = err == 0 && (!S_ISREG(st.st_mode) || (st.st_mode & S_IRWXO) != 0);

	if (err == 0 && !open_to_others) {
		len = read(fd, out, REDIS_PASSWORD - 1);
		err = len < 0 ? errno : 0;
	}
	if (fd >= 0)
		(void)close(fd);
	out[len < 0 ? 0 : len] = '\0';
	if (open_to_others)
		return store_refuse(r->why, r->whylen, -EACCES,
				    "%s: a password is kept in a file that others cannot read: chmod 600 it", path);
	if (err != 0)
		return store_refuse(r->why, r->whylen, -err, "%s: %s", path, strerror(err));
	out[strcspn(out, "\r\n")] = '\0';
	if (out[0] == '\0')
		return store_refuse(r->why, r->whylen, -EINVAL, "%s: its first line is no password", path);
	return 0;
}

static int password_take(const struct reading *r, const char *value)
{
	return password_read(r, value, r->out->password);
}

static int sentinel_password_take(const struct reading *r, const char *value)
{
	return password_read(r, value, r->out->sentinel_password);
}

static int realm_take(const struct reading *r, const char *value)
{
	size_t len = strlen(value);

	if (len == 0 || len > REDIS_REALM_NAME ||
	    strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != len)
		return store_refuse(r->why, r->whylen, -EINVAL,
				    "realm=%s: a realm's name has letters, digits, \"-\" and \"_\", at most %d", value,
				    REDIS_REALM_NAME);
	(void)strlcpy(r->out->realm, value, sizeof(r->out->realm));
	return 0;
}

static int history_take(const struct reading *r, const char *value)
{
	const char *wrong = NULL;

	r->out->history = (unsigned int)strtonum(value, HISTORY_MIN, INT_MAX, &wrong);
	if (wrong == NULL)
		return 0;
	return store_refuse(r->why, r->whylen, -EINVAL, "history=%s: so many entries, at least %d", value, HISTORY_MIN);
}

static int publish_take(const struct reading *r, const char *value)
{
	r->out->publish = strcmp(value, "yes") == 0;
	if (r->out->publish || strcmp(value, "no") == 0)
		return 0;
	return store_refuse(r->why, r->whylen, -EINVAL, "publish=%s: yes or no", value);
}

/* What may follow the "?". */
static const struct parameter {
	const char *name;
	int (*take)(const struct reading *r, const char *value);
} parameters[] = {
	{ "realm", realm_take },
	{ "password_file", password_take },
	{ "sentinel_password_file", sentinel_password_take },
	{ "history", history_take },
	{ "publish", publish_take },
};

static int parameter_take(const struct reading *r, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	size_t name = equals == NULL ? len : (size_t)(equals - text);
	char value[PATH_MAX];

	if (equals == NULL || redis_uri_part(equals + 1, len - name - 1, value, sizeof(value)) < 0)
		return store_refuse(r->why, r->whylen, -EINVAL, "%.*s: a parameter is written name=value",
				    (int)(len < 64 ? len : 64), text);
	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
		if (strlen(parameters[i].name) == name && memcmp(parameters[i].name, text, name) == 0)
			return parameters[i].take(r, value);
	return store_refuse(r->why, r->whylen, -EINVAL,
			    "%.*s: no parameter of a realm; there are realm, password_file, sentinel_password_file, "
			    "history and publish",
			    (int)(name < 64 ? name : 64), text);
}

static int parameters_take(const struct reading *r, const char *text)
{
	int rc = 0;

	while (rc == 0 && *text != '\0') {
		size_t len = strcspn(text, "&");

		rc = parameter_take(r, text, len);
		text += len + (text[len] == '&' ? 1 : 0);
	}
	if (rc == 0 && r->out->realm[0] == '\0')
		rc = store_refuse(r->why, r->whylen, -EINVAL, "which realm? %s", r->form->shape);
	return rc;
}

/* "user@". What has a ":" may be a password: nothing of it is repeated. */
static int login_take(const struct reading *r, const char *text, size_t len)
{
	if (memchr(text, ':', len) != NULL)
		return store_refuse(r->why, r->whylen, -EINVAL,
				    "an address can be seen by all: put the password into a file, and its path behind "
				    "?password_file=, or into $ATLOCK_REDIS_PASSWORD");
	return redis_uri_part(text, len, r->out->user, sizeof(r->out->user)) < 0 ? refuse_shape(r) : 0;
}

static int nodes_take(const struct reading *r, const char *text, size_t len)
{
	const char *end = text + len;

	while (text <= end) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma == NULL ? end : comma;
		struct redis_node *node = &r->out->nodes[r->out->node_count++];

		node->port = r->form->sentinel ? SENTINEL_PORT : PORT;
		if (redis_uri_host(text, (size_t)(stop - text), node->host, &node->port) < 0)
			return refuse_shape(r);
		if (comma != NULL && r->out->node_count == REDIS_NODES)
			return store_refuse(r->why, r->whylen, -EINVAL, "an address has at most %d hosts", REDIS_NODES);
		text = stop + 1;
	}
	return 0;
}

/* "/MASTER/db" or "/db", without what follows. */
static int path_take(const struct reading *r, const char *text, size_t len)
{
	const char *wrong = NULL;
	char db[16];

	if (r->form->sentinel) {
		const char *slash = len > 1 ? memchr(text + 1, '/', len - 1) : NULL;
		size_t name = len > 0 ? (slash == NULL ? len : (size_t)(slash - text)) - 1 : 0;

		if (name == 0 || redis_uri_part(text + 1, name, r->out->master, sizeof(r->out->master)) < 0)
			return refuse_shape(r);
		text += name + 1;
		len -= name + 1;
	}
	if (len < 2)
		return 0;
	if (redis_uri_part(text + 1, len - 1, db, sizeof(db)) < 0)
		return refuse_shape(r);
	r->out->db = (int)strtonum(db, 0, 1 << 20, &wrong);
	return wrong != NULL ? refuse_shape(r) : 0;
}

int redis_address_parse(const char *text, struct redis_address *out, char *why, size_t whylen)
{
	const char *from_env = getenv("ATLOCK_REDIS_PASSWORD");
	struct reading r = { .form = form_find(text), .out = out, .why = why, .whylen = whylen };

	memset(out, 0, sizeof(*out));
	out->history = REDIS_HISTORY;
	if (r.form == NULL)
		return store_refuse(why, whylen, -EINVAL, "a realm is named %s", forms[0].shape);
	text += strlen(r.form->scheme);
	const char *query = strchrnul(text, '?');
	const char *at = memrchr(text, '@', (size_t)(query - text));
	int rc = at == NULL ? 0 : login_take(&r, text, (size_t)(at - text));
	const char *hosts = at == NULL ? text : at + 1;
	const char *slash = memchr(hosts, '/', (size_t)(query - hosts));
	const char *hosts_end = slash == NULL ? query : slash;
	if (rc == 0)
		rc = nodes_take(&r, hosts, (size_t)(hosts_end - hosts));
	if (rc == 0)
		rc = path_take(&r, hosts_end, (size_t)(query - hosts_end));
	if (rc == 0)
		rc = parameters_take(&r, query + (*query == '?' ? 1 : 0));
	if (rc == 0 && out->password[0] == '\0' && from_env != NULL)
		(void)strlcpy(out->password, from_env, sizeof(out->password));
	if (rc < 0)
		explicit_bzero(out, sizeof(*out));
	return rc;
}
