/*
 * The %XX spelling of names. Every field has exactly one: what must be escaped is, in upper-case hex, and nothing else
 * is. Private to core/.
 */
#ifndef CORE_ESCAPE_H
#define CORE_ESCAPE_H

#include <stddef.h>

#include "atlock.h"

/* What a text is part of decides which bytes need escaping, besides '%' and control bytes. */
enum escape_field {
	ESCAPE_PATH,  /* a component of a repository or directory: '/' separates and cannot be in it */
	ESCAPE_LABEL, /* workspace, project: '/' ':' '@' */
	ESCAPE_NAME,  /* a component below custom/ or global/: '/' '@' */
	ESCAPE_WHO,   /* what follows '@', and ids of references: '/' */
	ESCAPE_URL,   /* a component of a Git URL: '/' '@' '?' '#' and blanks */
};

/* A decoded component is no longer than a spelled one; a spelled one is at most three times what it says. */
#define ESCAPE_SPELLED_MAX (3 * ATLOCK_COMPONENT_MAX + 1)

/*
 * Writes the spelling of `len` bytes, with a NUL. `alone` says that they make up a whole component: then "-", "." and
 * ".." are escaped as well. Returns its length, or -ENAMETOOLONG if it does not fit.
 */
int escape_encode(enum escape_field field, bool alone, const char *text, size_t len, char *out, size_t size);

/*
 * Undoes any escapes, also needless ones, and writes a NUL. Returns the length, -EINVAL for an incomplete escape or %00,
 * -ENAMETOOLONG if it does not fit.
 */
int escape_decode(const char *text, size_t len, char *out, size_t size);

/* 0 if `text` is the spelling of what it says; else -EINVAL or -ENAMETOOLONG, and `why` gives the right one. */
int escape_check(enum escape_field field, bool alone, const char *text, size_t len, struct atlock_why *why);

#endif
