/* Splits the user's own keys into lines, merges them, and joins them again. */
#include "meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "why.h"

bool meta_next(const char **text, size_t *len, struct meta_line *out)
{
	const char *line = *text;
	const char *newline = *len ? memchr(line, '\n', *len) : NULL;
	size_t n = newline ? (size_t)(newline - line) : *len;
	size_t taken = newline ? n + 1 : n;
	const char *equals = n ? memchr(line, '=', n) : NULL;

	if (*len == 0)
		return false;
	*text += taken;
	*len -= taken;
	out->key = equals ? line : NULL;
	out->key_len = equals ? (size_t)(equals - line) : 0;
	out->value = equals ? equals + 1 : line;
	out->value_len = n - (size_t)(out->value - line);
	return true;
}

bool meta_line_is(const struct meta_line *line, const char *key)
{
	return line->key && strlen(key) == line->key_len && memcmp(line->key, key, line->key_len) == 0;
}

struct meta_line *meta_find(struct meta *meta, const char *key, size_t len)
{
	for (size_t i = 0; i < meta->count; i++)
		if (meta->list[i].key_len == len && memcmp(meta->list[i].key, key, len) == 0)
			return &meta->list[i];
	return NULL;
}

int meta_put(struct meta *meta, const struct meta_line *line, struct atlock_why *why)
{
	struct meta_line *entry = meta_find(meta, line->key, line->key_len);

	if (!entry) {
		if (meta->count == ATLOCK_META_KEYS)
			return why_set(why, -EDQUOT, ATLOCK_QUOTA,
				       "\"%.*s\" would be one more than the %d keys a lock can have: write with > "
				       "instead of >> to replace them",
				       (int)line->key_len, line->key, ATLOCK_META_KEYS);
		entry = &meta->list[meta->count++];
	}
	*entry = *line;
	return 0;
}

int meta_refuse_bytes(size_t bytes, struct atlock_why *why)
{
	return why_set(why, -EDQUOT, ATLOCK_QUOTA,
		       "the lock's own keys would take %zu bytes, and %d is the most: keep large texts elsewhere and "
		       "write where they are",
		       bytes, ATLOCK_META_BYTES);
}

int meta_print(const struct meta *meta, char **out, size_t *out_len, struct atlock_why *why)
{
	size_t len = 0;
	char *at;

	for (size_t i = 0; i < meta->count; i++)
		len += meta->list[i].key_len + 1 + meta->list[i].value_len + 1;
	if (len > ATLOCK_META_BYTES)
		return meta_refuse_bytes(len, why);
	at = malloc(len + 1);
	if (!at)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	*out = at;
	*out_len = len;
	for (size_t i = 0; i < meta->count; i++) {
		const struct meta_line *entry = &meta->list[i];

		at = mempcpy(at, entry->key, entry->key_len);
		at = mempcpy(at, "=", 1);
		at = mempcpy(at, entry->value, entry->value_len);
		at = mempcpy(at, "\n", 1);
	}
	*at = '\0';
	return 0;
}

/* Adds all lines of a text except those without a key. */
static int meta_put_all(struct meta *meta, const char *text, size_t len, struct atlock_why *why)
{
	struct meta_line line;
	int err = 0;

	while (!err && meta_next(&text, &len, &line))
		if (line.key)
			err = meta_put(meta, &line, why);
	return err;
}

int meta_merge(const char *old, size_t old_len, const char *new, size_t new_len, char **out, size_t *out_len,
	       struct atlock_why *why)
{
	struct meta meta = { .count = 0 };
	int err = meta_put_all(&meta, old, old_len, why);

	if (!err)
		err = meta_put_all(&meta, new, new_len, why);
	return err ? err : meta_print(&meta, out, out_len, why);
}
