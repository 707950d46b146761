/*
 * The directory underneath the mount. While the daemon lives nobody sees it; if the daemon dies and the dead mount is taken
 * away, a lock created in it would look granted. So it must be empty, and it is made unwritable: mode 0555, and for root,
 * whom modes do not stop, immutable where the file system knows that. A clean unmount undoes it; what was there before is
 * remembered in an extended attribute ("0755", "0755i" if it was immutable), so that a start after a crash still knows.
 */
#ifndef MOUNTPOINT_H
#define MOUNTPOINT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct mountpoint {
	int fd;      /* of the bare directory: still reaches it when it is mounted over */
	mode_t mode; /* to restore, with: */
	bool immutable;
	char path[PATH_MAX];
};

/* Checks and opens it; prints what is wrong. 0 or -1. */
int mountpoint_open(struct mountpoint *mp, const char *path);

/* Root does this before mounting; others must after it, since fusermount3 wants a directory they may write. */
void mountpoint_protect(const struct mountpoint *mp);

/* Undoes it. */
void mountpoint_restore(const struct mountpoint *mp);
void mountpoint_close(struct mountpoint *mp);

#endif
