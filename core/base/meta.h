/*
 * The user's own keys of a lock, as "key=value" lines. Private to core/.
 *
 *	struct meta meta = { .count = 0 };
 *	while (meta_next(&text, &len, &line))
 *		meta_put(&meta, &line, why);
 *	meta_print(&meta, &text, &len, why);	meta_merge() does all of this
 */
#ifndef CORE_META_H
#define CORE_META_H

#include "atlock.h"

#define META_KEY_MAX 64

/* One line, split; points into the text. Without a '=', `key` is NULL and `value` is the whole line. */
struct meta_line {
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
};

/* Takes the first line off a text, which needs no NUL or newline at its end. False at the end. */
bool meta_next(const char **text, size_t *len, struct meta_line *out);

/* Whether the line's key is `key`. */
bool meta_line_is(const struct meta_line *line, const char *key);

/* Lines by key: each key once, in the order of first appearance. The texts they point into must outlive this. */
struct meta {
	size_t count;
	struct meta_line list[ATLOCK_META_KEYS];
};

/* The line with this key of `len` bytes, or NULL. */
struct meta_line *meta_find(struct meta *meta, const char *key, size_t len);

/* Adds a line, or replaces the one with the same key. -EDQUOT above ATLOCK_META_KEYS. */
int meta_put(struct meta *meta, const struct meta_line *line, struct atlock_why *why);

/* Writes the lines into a malloc'ed text with a NUL. -EDQUOT above ATLOCK_META_BYTES, -ENOMEM. */
int meta_print(const struct meta *meta, char **out, size_t *out_len, struct atlock_why *why);

/*
 * The keys of `old`, replaced or extended by those of `new`. `*out` is malloc'ed. -EDQUOT above ATLOCK_META_KEYS or
 * ATLOCK_META_BYTES, -ENOMEM.
 */
int meta_merge(const char *old, size_t old_len, const char *new, size_t new_len, char **out, size_t *out_len,
	       struct atlock_why *why);

/* Explains that a text of `bytes` bytes is too long; returns -EDQUOT. */
int meta_refuse_bytes(size_t bytes, struct atlock_why *why);

#endif
