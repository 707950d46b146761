/*
 * The user's own keys of a lock, as "key=value" lines. Private to core/.
 *
 *	struct meta meta = { .count = 0 };
 *	meta_put_all(&meta, old, old_len, why);
 *	meta_put_all(&meta, new, new_len, why);
 *	meta_print(&meta, &text, &len, why);	all of which is meta_merge()
 */
#ifndef CORE_META_H
#define CORE_META_H

#include "atlock.h"

#define META_KEY_MAX 64

/* One line taken apart, pointing into the text. `key` is NULL if there is no '=': then all of it is the value. */
struct meta_line {
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
};

/* Takes the first line off a text, which need not end in a NUL or a newline. False at the end. */
bool meta_next(const char **text, size_t *len, struct meta_line *out);

/* Whether a line's key is this one. */
bool meta_line_is(const struct meta_line *line, const char *key);

/* Lines by their keys: each key once, in the order of the first lines. What they point to must outlive this. */
struct meta {
	size_t count;
	struct meta_line list[ATLOCK_META_KEYS];
};

/* The line with this key of `len` bytes, or NULL. */
struct meta_line *meta_find(struct meta *meta, const char *key, size_t len);

/* Adds a line, in the place of one with the same key. -EDQUOT above ATLOCK_META_KEYS. */
int meta_put(struct meta *meta, const struct meta_line *line, struct atlock_why *why);

/* Adds all lines of a text; those without a key are left out. */
int meta_put_all(struct meta *meta, const char *text, size_t len, struct atlock_why *why);

/* Writes the lines into a malloc'ed text with a NUL. -EDQUOT above ATLOCK_META_BYTES, -ENOMEM. */
int meta_print(const struct meta *meta, char **out, size_t *out_len, struct atlock_why *why);

/*
 * The keys of `old`, with those of `new` in place or at the end. `*out` is malloc'ed. -EDQUOT above ATLOCK_META_KEYS or
 * ATLOCK_META_BYTES, -ENOMEM.
 */
int meta_merge(const char *old, size_t old_len, const char *new, size_t new_len, char **out, size_t *out_len,
	       struct atlock_why *why);

/* Says that so many bytes are too many; returns -EDQUOT. */
int meta_refuse_bytes(size_t bytes, struct atlock_why *why);

#endif
