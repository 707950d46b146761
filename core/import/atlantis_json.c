/* Atlantis' JSON: parsed, scrubbed of secrets, printed on one line, compared as a Go program would read it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlantis.h"
#include "why.h"

#define REDACTED "<redacted>"

struct json_t *atlantis_parse(const char *data, size_t len, const char *what, struct atlock_why *why)
{
	json_error_t error;
	json_t *value = json_loadb(data, len, 0, &error);

	if (json_is_object(value))
		return value;
	why_set(why, -EBADMSG, ATLOCK_INVALID_REQUEST, "%.160s: %s", what,
		value == NULL ? error.text : "is JSON, but no object");
	json_decref(value);
	return NULL;
}

/* "https://bot:TOKEN@host" with the token replaced, or NULL if it has none. */
static json_t *url_scrub(const char *text)
{
	const char *host = strstr(text, "://");
	const char *at;
	const char *colon;

	if (host == NULL)
		return NULL;
	host += strlen("://");
	at = memrchr(host, '@', strcspn(host, "/?# "));
	colon = at == NULL ? NULL : memchr(host, ':', (size_t)(at - host));
	if (colon == NULL || strncmp(colon + 1, REDACTED "@", strlen(REDACTED "@")) == 0)
		return NULL;
	return json_sprintf("%.*s" REDACTED "%s", (int)(colon + 1 - text), text, at);
}

void atlantis_scrub(struct json_t *secret)
{
	json_t *member;
	json_t *clean;
	const char *key;
	void *next;
	size_t i;

	json_object_del(secret, "CloneURL");
	json_object_foreach_safe(secret, next, key, member)
	{
		clean = json_is_string(member) ? url_scrub(json_string_value(member)) : NULL;
		if (clean != NULL)
			json_object_set_new(secret, key, clean);
		else
			atlantis_scrub(member);
	}
	json_array_foreach(secret, i, member) {
		clean = json_is_string(member) ? url_scrub(json_string_value(member)) : NULL;
		if (clean != NULL)
			json_array_set_new(secret, i, clean);
		else
			atlantis_scrub(member);
	}
}

/* jansson does not escape DEL, but a lock's text must not have control bytes. */
static char *del_escape(char *text)
{
	size_t count = 0;
	char *out;
	char *at;

	for (const char *p = text; *p != '\0'; p++)
		count += *p == 0x7f;
	if (count == 0)
		return text;
	out = malloc(strlen(text) + count * 5 + 1);
	at = out;
	for (const char *p = text; out != NULL && *p != '\0'; p++) {
		if (*p == 0x7f)
			at = stpcpy(at, "\\u007f");
		else
			*at++ = *p;
	}
	if (out != NULL)
		*at = '\0';
	free(text);
	return out;
}

char *atlantis_print(const struct json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII);

	return text == NULL ? NULL : del_escape(text);
}

static const json_t *field(const json_t *value, const char *path)
{
	while (value != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");
		char name[64];

		if (len >= sizeof(name))
			return NULL;
		memcpy(name, path, len);
		name[len] = '\0';
		value = json_object_get(value, name);
		path += len + (path[len] == '.');
	}
	return value;
}

const char *atlantis_string(const struct json_t *value, const char *path)
{
	const char *text = json_string_value(field(value, path));

	return text == NULL ? "" : text;
}

int64_t atlantis_integer(const struct json_t *value, const char *path)
{
	return json_integer_value(field(value, path));
}

/* --- Comparing --- */

/* Whether the value is what Go reads for a missing field. */
static bool is_zero(const json_t *value)
{
	const char *key;
	json_t *member;

	switch (value == NULL ? JSON_NULL : json_typeof(value)) {
	case JSON_STRING: return json_string_length(value) == 0;
	case JSON_INTEGER: return json_integer_value(value) == 0;
	case JSON_REAL: return json_real_value(value) == 0;
	case JSON_TRUE: return false;
	case JSON_ARRAY: return json_array_size(value) == 0;
	case JSON_OBJECT:
		json_object_foreach((json_t *)value, key, member)
			if (!is_zero(member))
				return false;
		return true;
	default: return true;
	}
}

struct comparison {
	char path[256];
	char *out;
	size_t len;
};

static int differ(const struct comparison *c, const json_t *a, const json_t *b)
{
	char *left = a == NULL ? NULL : json_dumps(a, JSON_COMPACT | JSON_ENCODE_ANY);
	char *right = b == NULL ? NULL : json_dumps(b, JSON_COMPACT | JSON_ENCODE_ANY);

	snprintf(c->out, c->len, "%s is %.80s here and %.80s there", c->path[0] == '\0' ? "it" : c->path,
		 left == NULL ? "missing" : left, right == NULL ? "missing" : right);
	free(left);
	free(right);
	return 1;
}

static int compare(struct comparison *c, const json_t *a, const json_t *b);

static int compare_below(struct comparison *c, const char *name, const json_t *a, const json_t *b)
{
	size_t end = strlen(c->path);
	int rc;

	snprintf(c->path + end, sizeof(c->path) - end, "%s%s", end == 0 ? "" : ".", name);
	rc = compare(c, a, b);
	c->path[end] = '\0';
	return rc;
}

static int compare_objects(struct comparison *c, const json_t *a, const json_t *b)
{
	const char *key;
	json_t *member;
	int rc = 0;

	json_object_foreach((json_t *)a, key, member) {
		rc = compare_below(c, key, member, json_object_get(b, key));
		if (rc != 0)
			return rc;
	}
	json_object_foreach((json_t *)b, key, member) {
		if (json_object_get(a, key) == NULL)
			rc = compare_below(c, key, NULL, member);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Projects of a pull request have no order: finds the one with the same names. */
static const json_t *counterpart(const json_t *list, size_t index, const json_t *one)
{
	static const char *const names[] = { "RepoRelDir", "Workspace", "ProjectName" };
	json_t *member;
	size_t i;

	if (!json_is_object(one) || json_object_get(one, "RepoRelDir") == NULL)
		return json_array_get(list, index);
	json_array_foreach(list, i, member) {
		size_t same = 0;

		while (same < 3 && strcmp(atlantis_string(member, names[same]), atlantis_string(one, names[same])) == 0)
			same++;
		if (same == 3)
			return member;
	}
	return NULL;
}

static int compare_arrays(struct comparison *c, const json_t *a, const json_t *b)
{
	json_t *member;
	char name[32];
	size_t i;
	int rc = 0;

	json_array_foreach(a, i, member) {
		snprintf(name, sizeof(name), "%zu", i);
		rc = compare_below(c, name, member, counterpart(b, i, member));
		if (rc != 0)
			return rc;
	}
	return json_array_size(a) == json_array_size(b) ? 0 : differ(c, a, b);
}

static int compare(struct comparison *c, const json_t *a, const json_t *b)
{
	if (is_zero(a) && is_zero(b))
		return 0;
	if (json_is_object(a) && (json_is_object(b) || b == NULL))
		return compare_objects(c, a, b);
	if (json_is_array(a) && json_is_array(b))
		return compare_arrays(c, a, b);
	return json_equal(a, b) ? 0 : differ(c, a, b);
}

int atlock_foreign_compare(const char *a, const char *b, char *difference, size_t len)
{
	struct comparison c = { .path = "", .out = difference, .len = len };
	json_t *left = atlantis_parse(a, strlen(a), "", NULL);
	json_t *right = atlantis_parse(b, strlen(b), "", NULL);
	int rc = 1;

	snprintf(difference, len, "one of them is no JSON object");
	if (left != NULL && right != NULL) {
		atlantis_scrub(left);
		atlantis_scrub(right);
		rc = compare(&c, left, right);
	}
	json_decref(left);
	json_decref(right);
	return rc;
}
