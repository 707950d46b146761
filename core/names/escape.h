/*
 * The %XX spelling of names. Every field has exactly one spelling: bytes that need an escape have one, in upper-case
 * hex, and no others do. Private to core/.
 */
#ifndef CORE_ESCAPE_H
#define CORE_ESCAPE_H

#include <stddef.h>

#include "atlock.h"

/* The field that a text belongs to decides which bytes need escapes, besides '%' and control bytes. */
enum escape_field {
	ESCAPE_PATH,  /* a component of a repository or directory: '/' separates, so it cannot occur */
	ESCAPE_LABEL, /* workspace, project: '/' ':' '@' */
	ESCAPE_NAME,  /* a component below custom/ or global/: '/' '@' */
	ESCAPE_WHO,   /* the text after '@', and ids of references: '/' */
	ESCAPE_URL,   /* a component of a Git URL: '/' '@' '?' '#' and blanks */
};

/* A decoded component is no longer than its spelling; a spelling is at most three times as long as the component. */
#define ESCAPE_SPELLED_MAX (3 * ATLOCK_COMPONENT_MAX + 1)

/*
 * Writes the spelling of `len` bytes, with a NUL. `alone`: they are a whole component, so "-", "." and ".." are escaped
 * as well. Returns the length, or -ENAMETOOLONG if it does not fit.
 */
int escape_encode(enum escape_field field, bool alone, const char *text, size_t len, char *out, size_t size);

/*
 * Decodes all escapes, also needless ones, and writes a NUL. Returns the length, -EINVAL for an incomplete escape or
 * %00, -ENAMETOOLONG if it does not fit.
 */
int escape_decode(const char *text, size_t len, char *out, size_t size);

/* 0 if `text` is in its one spelling; else -EINVAL or -ENAMETOOLONG, and `why` gives the right spelling. */
int escape_check(enum escape_field field, bool alone, const char *text, size_t len, struct atlock_why *why);

#endif
