/* Locks as people name them on a command line: a path, an id; and what a refused call on one means. */
#ifndef TOOLS_LOCKPATH_H
#define TOOLS_LOCKPATH_H

#include <atlock.h>

#include "mount.h"

/*
 * Writes the lock's path below the root in its one spelling, with "@who" if that was given. Takes a path below the root, one
 * through the mount, or one relative to where the caller is in it. EXIT_DONE, or EXIT_USAGE once it has said what is wrong.
 */
int lockpath_take(const struct tool *tool, const struct mount *mount, const char *text, char out[ATLOCK_PATH_MAX]);

/*
 * The same for a path that locks may be below: "" for all, and no slash at its end. EXIT_USAGE once it has said that it is
 * outside the mount or in none of the trees.
 */
int lockpath_prefix(const struct tool *tool, const struct mount *mount, const char *text, char out[ATLOCK_PATH_MAX]);

/* The same, and takes ids and Atlantis' keys too: the lock that has it now. EXIT_REFUSED if none has. */
int lockpath_find(const struct tool *tool, const struct mount *mount, const char *text, char out[ATLOCK_PATH_MAX]);

/* Whether a word is an id, as `cat` of a lock prints it. */
bool lockpath_is_id(const char *text);

/* The lock that has this id now: false if none has. */
bool lockpath_of_id(const struct mount *mount, const char *id, char out[ATLOCK_PATH_MAX]);

/* Who holds it, "owner@who"; "" if it is free. */
void lockpath_holder(const struct mount *mount, const char *path, char *out, size_t len);

/* Whether the caller holds it: 0, or the negative errno of a refusal, -ENOENT if it is not held. */
int lockpath_mine(const struct mount *mount, const char *path);

/*
 * The first releases a lock only if the caller holds it, also for administrators. The second releases a lock if its holder is
 * still `who`: -ENOENT if it is not, and the lock stays. A holder with a name is compared in the same step (for root, or for the
 * holder's user); a session, process or open file just before, so that an administrator can release a lock that passes on in
 * between. 0 or a negative errno.
 */
int lockpath_release(const struct mount *mount, const char *path);
int lockpath_force(const struct mount *mount, const char *path, const char *who);

/*
 * Releases the grant with this token and no other, compared in the same step, with a reason for the event log: -ESTALE if another
 * grant has the lock, -EPERM if a session or process of the caller's user has it, which alone can release it.
 */
int lockpath_give_back(const struct mount *mount, const char *path, const char *who, uint64_t token,
		       const char *reason);

/* What a command does to each lock that it is given. */
struct lockpath_act {
	/* `word` is what the caller wrote for `path`. 0, a negative errno, or an exit code once it has said why. */
	int (*fn)(void *arg, const char *path, const char *word);
	void *arg;
	const char *advice; /* what to do instead where another holds it; NULL: what the file system says */
	bool named;         /* an id stands for its lock under its holder's name */
	bool absent;        /* a lock that is not held is as it should be */
};

/* Opens the mount, acts on each lock that the words name, reports refusals, closes the mount. The first exit code that is not 0. */
int lockpath_each(struct tool *tool, struct mount *mount, char *const *words, const struct lockpath_act *act);

/*
 * Says why a call was refused, and returns the exit code: 1, or 75 if the same call may succeed later. `advice`, unless NULL,
 * replaces the file system's advice where that is about its files.
 */
int lockpath_refused(const struct tool *tool, const struct mount *mount, const char *path, int err, const char *advice);

/*
 * Whether the lock that "LOCK@WHO" names is held by another holder than that: then writes which one. False for a path without "@", and
 * if it is free.
 */
bool lockpath_other(const struct mount *mount, const char *path, char *out, size_t len);

/* The line in `why` with that advice, "" for none. */
void lockpath_why(const struct mount *mount, const char *advice, char *out, size_t len);

#endif
