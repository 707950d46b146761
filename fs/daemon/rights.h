/*
 * The daemon's rights once it is mounted. With run_as= it is split into two processes. One stays root, holds the bare
 * mount point, and only waits: it passes signals on and, after an orderly end of the other, unmounts and restores the
 * mount point. The other is the daemon; it runs as that user, without capabilities, and can never gain any.
 *
 * Where /proc hides processes of other users (hidepid), the daemon keeps CAP_SYS_PTRACE: it must read the start time
 * and the parents of every process that takes a lock, and the kernel requires that capability. Sessions, pidfds and
 * FUSE need none.
 */
#ifndef RIGHTS_H
#define RIGHTS_H

#include "mount_options.h"
#include "mountpoint.h"

/* Gives the user a store that root has made: the directory, if it is not his yet, and the files in it. 0 or -1. */
int rights_give_store(const struct options *options);

/* Splits. In the daemon: returns -1, as the user. In the process that stays root: its exit status, at the end. */
int rights_split(const struct options *options, const struct fs *fs, const struct mountpoint *mp);

#endif
