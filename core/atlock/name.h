/*
 * Names: the path of a lock, its one canonical spelling, and the key that identifies it.
 *
 * A lock of repos/, global/ and shared/ is named by its path alone: atlock_name_parse(). A lock of custom/ is named by the
 * number of its directory (dir.h) and a leaf: atlock_name_custom(); atlock_resolve() walks the directories of a path. Every
 * lock has one spelling: another is -EINVAL, and `why` gives the right one.
 *
 * A name is a value: copy it, compare it, own nothing. `who`, the part after '@', belongs to the request and not to the lock:
 * names that differ in it alone are equal.
 *
 * Functions without a `struct atlock *` use only their arguments and may run on any thread.
 */
#ifndef ATLOCK_NAME_H
#define ATLOCK_NAME_H

#include "atlock/base.h"

enum atlock_tree { ATLOCK_REPOS, ATLOCK_CUSTOM, ATLOCK_GLOBAL, ATLOCK_SHARED };

struct atlock_name {
	uint16_t len;                      /* bytes of `key`; 0: no name */
	unsigned char key[ATLOCK_KEY_MAX]; /* opaque: copied and compared, never looked into */
	char who[ATLOCK_WHO_MAX + 1];      /* what followed '@', escaped, so without control bytes; "": nothing did */
};

/* --- From a path --- */

enum atlock_path { ATLOCK_PATH_DIR, ATLOCK_PATH_LOCK };

/*
 * Tells what a path below the root can be: ATLOCK_PATH_DIR or ATLOCK_PATH_LOCK. Takes "repos", "repos/a/-", "global/apply",
 * "repos/a/-/d/-/ws@who". -EINVAL: not the canonical spelling. -ENAMETOOLONG. -ENOTDIR: below a lock. -ENOENT: another tree.
 * Below custom/ the answer depends on the directories there: see atlock_resolve(). `out`, which may be NULL, gets the name of a lock.
 */
int atlock_path_kind(const char *path, struct atlock_name *out, struct atlock_why *why);

/* Parses "repos/...", "global/..." and "shared/<resource>/stop", with or without "@who". Errors as above; -EISDIR. */
int atlock_name_parse(const char *path, struct atlock_name *out, struct atlock_why *why);

/* Names the lock `leaf` ("name" or "name@who") in directory `dir` of custom/; 0 is custom/ itself. -EINVAL, -ENAMETOOLONG. */
int atlock_name_custom(uint64_t dir, const char *leaf, struct atlock_name *out, struct atlock_why *why);

/*
 * As atlock_name_parse(), for custom/ too: reads its directories from the store. -ENOENT if one does not exist, -ENOTDIR if one
 * is a lock. For users of the library: the kernel walks the paths of a mount.
 */
int atlock_resolve(struct atlock *al, const char *path, struct atlock_name *out, struct atlock_why *why);

/* 0 if `text` may name a directory below custom/; -EINVAL, -ENAMETOOLONG. An '@' is spelled %40: "a@b" is the lock "a". */
int atlock_component_check(const char *text, struct atlock_why *why);

/* --- Looking at one --- */

bool atlock_name_equal(const struct atlock_name *a, const struct atlock_name *b);
enum atlock_tree atlock_name_tree(const struct atlock_name *name);

/* The directory of custom/ that the lock is in. False for a lock of another tree. */
bool atlock_name_dir(const struct atlock_name *name, uint64_t *dir);

/* Writes the canonical path without "@who". `al` may be NULL except for custom/. -ERANGE if `len` bytes are too few. */
int atlock_name_print(struct atlock *al, const struct atlock_name *name, char *out, size_t len);

/*
 * The same for people and listings, where one lock too deep must not fail the rest: of a path that does not fit it writes the
 * end, after "custom/-/", with which no path begins; a directory that is gone reads as '?'. ATLOCK_PATH_MAX bytes always do.
 */
int atlock_name_show(struct atlock *al, const struct atlock_name *name, char *out, size_t len);

/* --- Parts of a name of repos/ --- */

/* Decoded: no escapes. */
struct atlock_parts {
	char repo[ATLOCK_KEY_MAX + 1];
	char dir[ATLOCK_KEY_MAX + 1]; /* ".": the repository's root */
	char workspace[ATLOCK_COMPONENT_MAX + 1];
	char project[ATLOCK_COMPONENT_MAX + 1]; /* "": the project has no name */
};

/* Takes a name apart. -EINVAL for a name of another tree. */
int atlock_name_split(const struct atlock_name *name, struct atlock_parts *out);

/*
 * Makes a name from parts and escapes what must be. The directory "" is "."; any other "." or ".." in a path is -EINVAL, for
 * the caller should have resolved it. -ENAMETOOLONG.
 */
int atlock_name_join(const struct atlock_parts *parts, struct atlock_name *out, struct atlock_why *why);

#endif
