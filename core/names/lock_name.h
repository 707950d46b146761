/*
 * The structure of a lock's name. Private to core/.
 *
 * A key is one byte for the tree, then:
 *	'r'	the path after "repos/" in its one spelling: "acme/infra/-/modules/vpc/-/production:vpc". The repository's
 *		root directory has no component: "acme/infra/-/-/production".
 *	'g'	the command in its one spelling.
 *	's'	the resource in its one spelling, then "/stop".
 *	'c'	the directory's id, 8 bytes big-endian, then the name in its one spelling.
 * Only a directory id contains NUL bytes.
 */
#ifndef CORE_LOCK_NAME_H
#define CORE_LOCK_NAME_H

#include "atlock.h"
#include "store.h"

#define NAME_TREE_REPOS 'r'
#define NAME_TREE_GLOBAL 'g'
#define NAME_TREE_CUSTOM 'c'
#define NAME_TREE_SHARED 's'
#define NAME_STOP "stop" /* the lock of a shared resource */

/* 0 if the key is well-formed: not empty, not too long, of a known tree. -EINVAL, also for NULL. */
int name_check(const struct atlock_name *name);

/* A name's key as bytes, and the name with a given key. */
struct slice name_slice(const struct atlock_name *name);
void name_from_key(struct atlock_name *name, struct slice key);

/* Whether a lock is in exactly this repository. */
bool name_in_repo(struct slice lock, struct slice repo);

/* The resource of a name in shared/. -EINVAL for another tree. */
int name_shared(struct slice lock, struct slice *resource);

/* The canonical path of a name in repos/, global/ or shared/, without "@who". -EINVAL for custom/, -ERANGE. */
int name_print_plain(const struct atlock_name *name, char *out, size_t len);

/*
 * The common prefix of all keys below a directory of repos/ or global/: the tree's byte, then for "repos/acme" "acme/".
 * Errors as atlock_path_kind(), and -ENOTDIR for a lock.
 */
int name_prefix(const char *dir, struct atlock_name *out, struct atlock_why *why);

#endif
