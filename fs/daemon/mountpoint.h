/*
 * The directory underneath the mount. While the daemon lives it is hidden; if the daemon dies and the dead mount is
 * removed, a lock created in it would look granted. So it must be empty, and it is made unwritable: mode 0555, and for
 * root, whom modes do not stop, immutable where the file system supports that. A clean unmount undoes it. The state
 * before is kept in an extended attribute ("0755", "0755i" if it was immutable), so that it can be restored after a
 * crash.
 */
#ifndef MOUNTPOINT_H
#define MOUNTPOINT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct mountpoint {
	int fd;      /* of the bare directory: still refers to it when it is mounted over */
	mode_t mode; /* to restore, as the next */
	bool immutable;
	char path[PATH_MAX];
};

/* Checks and opens it; prints what is wrong. 0 or -1. */
int mountpoint_open(struct mountpoint *mp, const char *path);

/*
 * Root calls this before mounting; other users after it, because fusermount3 requires a directory that they may write.
 */
void mountpoint_protect(const struct mountpoint *mp);

/* Undoes mountpoint_protect(). */
void mountpoint_restore(const struct mountpoint *mp);
void mountpoint_close(struct mountpoint *mp);

#endif
