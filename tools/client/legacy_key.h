/* Locks by the keys that Atlantis has for them, "acme/infra/modules/vpc/prod" or, since its 0.40, ".../prod/project". */
#ifndef TOOLS_LEGACY_KEY_H
#define TOOLS_LEGACY_KEY_H

#include <atlock.h>

#include "mount.h"

/* Whether a word may be such a key: a repository of two parts or more, a directory and a workspace. */
bool legacy_key_is(const char *text);

/*
 * Writes the path of the held lock that has this key. Where its parts end cannot be seen in a key, so the locks are asked. EXIT_DONE,
 * or EXIT_REFUSED once it has said that none has it, or that two have.
 */
int legacy_key_find(const struct tool *tool, const struct mount *mount, const char *key, char out[ATLOCK_PATH_MAX]);

#endif
