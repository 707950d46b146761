/*
 * Which mounted file system a command works on, and paths below it.
 *
 * This room, client/, knows what the commands work on: a mount or a store, locks by the names that people give them, lines of
 * locks.jsonl and of events. It calls cli/. It knows no command, and sees of the file system what every user sees.
 */
#ifndef TOOLS_MOUNT_H
#define TOOLS_MOUNT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <atlock.h>

#include "command.h"

#define WHY_MAX 1024 /* bytes of a line of `why`, with its NUL */

struct mount {
	char path[PATH_MAX];
	int fd;         /* of the root directory */
	int64_t opened; /* when, by moment_steady() */
};

/*
 * Finds the mount: -m, else $ATLOCKFS, else the one that the caller's directory is in, else the only one in the mount table.
 * Returns EXIT_DONE, or another exit code once it has said what is wrong: none there, several to choose from, a dead daemon.
 */
int mount_open(struct tool *tool, struct mount *out);
/*
 * Every mount point of ours that the caller can reach, dead ones too, as an array that NULL ends; the caller frees it with
 * mount_list_free(). NULL without memory or without /proc.
 */
char **mount_list(void);
void mount_list_free(char **list);

void mount_close(struct mount *mount);

/*
 * After ENOTCONN, or once it was closed: opens what is mounted at the same path now. If that fails, nothing changes: a negative
 * errno, -ENOENT if the directory under the mount is visible.
 */
int mount_reopen(struct mount *mount);

/* What follows the mount point in an absolute path, "" for the mount point itself; NULL if the path is not in the mount. */
const char *mount_below(const struct mount *mount, const char *path);

/* Opens a file by its path below the root, for reading. NULL and errno. */
FILE *mount_read(const struct mount *mount, const char *path);

/*
 * Calls `fn` with each line of such a file, its newline included, until `fn` returns another value than 0. Returns that value,
 * or a negative errno if the file cannot be read.
 */
typedef int mount_line_fn(void *arg, char *line, size_t len);
int mount_lines(const struct mount *mount, const char *path, mount_line_fn *fn, void *arg);

/*
 * The first opens a file for writing, with these flags as well, writes the text in one write and closes it. The second only
 * opens and closes it: that takes a lock with O_CREAT | O_EXCL, and tells with 0 whether the caller holds it. 0 or a negative errno.
 */
int mount_write(const struct mount *mount, const char *path, int flags, const char *text);
int mount_try(const struct mount *mount, const char *path, int flags);

/* The first line of such a file, or "". 0, or a negative errno if it cannot be read. */
int mount_line(const struct mount *mount, const char *path, char *out, size_t len);

/* The value of a line key=value of such a file; false and "" if there is none. */
bool mount_value(const struct mount *mount, const char *path, const char *key, char *out, size_t len);

/* The number of the last event, which grows with every change; 0 if it cannot be read. */
uint64_t mount_events(const struct mount *mount);

/* One field of a lock, such as "token": false if the lock is not there or has no such field. */
bool mount_field(const struct mount *mount, const char *path, const char *key, char *out, size_t len);

/* The line in `why`, without its code and age; "" if it cannot be read or is of before the mount was opened. */
void mount_why(const struct mount *mount, char *out, size_t len);

/* Whether that line gives this advice. */
bool mount_advises(const struct mount *mount, enum atlock_advice advice);

/* Whether the caller is an administrator there; asking leaves no line in `why`. */
bool mount_admin(const struct mount *mount);

/* Says why a call on `path` was refused with `err`, in the words of `why` if there are some. Returns `code`. */
int mount_complain(const struct tool *tool, const struct mount *mount, int code, const char *path, int err);

#endif
