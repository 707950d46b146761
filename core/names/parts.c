/*
 * Splits a name of repos/ into its decoded parts, and joins them. Joining writes the path and parses it, so that the
 * rules for names exist once.
 */
#include <errno.h>
#include <string.h>

#include "escape.h"
#include "lock_name.h"
#include "why.h"

static const char separator[] = "/-/";

/* A path under construction. */
struct spelling {
	char text[ATLOCK_PATH_MAX];
	size_t len;
};

static int spell(struct spelling *out, enum escape_field field, bool alone, const char *text, size_t len)
{
	int n = escape_encode(field, alone, text, len, out->text + out->len, sizeof(out->text) - out->len);

	if (n < 0)
		return n;
	out->len += (size_t)n;
	return 0;
}

static int spell_raw(struct spelling *out, const char *text)
{
	size_t len = strlen(text);

	if (len >= sizeof(out->text) - out->len)
		return -ENAMETOOLONG;
	memcpy(out->text + out->len, text, len + 1);
	out->len += len;
	return 0;
}

/* "." and ".." have a spelling, but in a repository or directory they mean that a program did not resolve its path. */
static bool component_wanders(const char *text, size_t len)
{
	return (len == 1 && text[0] == '.') || (len == 2 && text[0] == '.' && text[1] == '.');
}

static int spell_path(struct spelling *out, const char *what, const char *text, struct atlock_why *why)
{
	const char *p = text;
	int err = 0;

	while (!err) {
		size_t len = strcspn(p, "/");

		if (len == 0)
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
				       "%s \"%s\": needs a component before, between and after '/'", what, text);
		if (component_wanders(p, len))
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
				       "%s \"%s\": resolve \".\" and \"..\" first", what, text);
		err = spell(out, ESCAPE_PATH, true, p, len);
		p += len;
		if (!*p)
			break;
		if (!err)
			err = spell_raw(out, "/");
		p++;
	}
	return err;
}

static int spell_leaf(struct spelling *out, const struct atlock_parts *parts)
{
	bool unnamed = parts->project[0] == '\0';
	int err = spell(out, ESCAPE_LABEL, unnamed, parts->workspace, strlen(parts->workspace));

	if (err || unnamed)
		return err;
	err = spell_raw(out, ":");
	return err ? err : spell(out, ESCAPE_LABEL, false, parts->project, strlen(parts->project));
}

static bool parts_ended(const struct atlock_parts *parts)
{
	return memchr(parts->repo, '\0', sizeof(parts->repo)) && memchr(parts->dir, '\0', sizeof(parts->dir)) &&
	       memchr(parts->workspace, '\0', sizeof(parts->workspace)) &&
	       memchr(parts->project, '\0', sizeof(parts->project));
}

int atlock_name_join(const struct atlock_parts *parts, struct atlock_name *out, struct atlock_why *why)
{
	struct spelling path = { .len = 0 };
	bool root;
	int err;

	if (!parts || !out || !parts_ended(parts))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no name given");
	root = parts->dir[0] == '\0' || strcmp(parts->dir, ".") == 0;
	err = spell_raw(&path, "repos/");
	if (!err)
		err = spell_path(&path, "repository", parts->repo, why);
	if (!err)
		err = spell_raw(&path, separator);
	if (!err && !root)
		err = spell_path(&path, "directory", parts->dir, why);
	if (!err)
		err = spell_raw(&path, root ? separator + 1 : separator);
	if (!err)
		err = spell_leaf(&path, parts);
	if (err == -ENAMETOOLONG)
		return why_set(why, err, ATLOCK_INVALID_REQUEST, "a name may have %d bytes after \"repos/\"",
			       ATLOCK_KEY_MAX - 1);
	return err ? err : atlock_name_parse(path.text, out, why);
}

static int decode(const char *text, const char *end, char *out, size_t size)
{
	int n = escape_decode(text, (size_t)(end - text), out, size);

	return n > 0 ? 0 : -EINVAL;
}

/* Splits "workspace" or "workspace:project". */
static int leaf_split(const char *text, const char *end, struct atlock_parts *out)
{
	const char *colon = memchr(text, ':', (size_t)(end - text));

	if (!colon)
		return decode(text, end, out->workspace, sizeof(out->workspace));
	if (decode(text, colon, out->workspace, sizeof(out->workspace)))
		return -EINVAL;
	return decode(colon + 1, end, out->project, sizeof(out->project));
}

int atlock_name_split(const struct atlock_name *name, struct atlock_parts *out)
{
	const size_t step = strlen(separator);
	const char *text;
	const char *end;
	const char *mark;

	if (!out || name_check(name) || atlock_name_tree(name) != ATLOCK_REPOS)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	text = (const char *)name->key + 1;
	end = (const char *)name->key + name->len;
	mark = memmem(text, (size_t)(end - text), separator, step);
	if (!mark || decode(text, mark, out->repo, sizeof(out->repo)))
		return -EINVAL;
	/* In the root directory the '/' after the first "-" is also the one before the second. */
	text = mark + step - 1;
	mark = memmem(text, (size_t)(end - text), separator, step);
	if (!mark)
		return -EINVAL;
	if (mark == text)
		memcpy(out->dir, ".", sizeof("."));
	else if (decode(text + 1, mark, out->dir, sizeof(out->dir)))
		return -EINVAL;
	return leaf_split(mark + step, end, out);
}
