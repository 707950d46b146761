/*
 * Which rights the daemon has once it is mounted. With run_as= it is split in two. One process stays root, holds the bare mount
 * point, and does nothing but wait: it passes signals on, and when the other has ended in order, unmounts and gives the mount
 * point back. The other is the daemon, as that user, without capabilities, and can never gain any.
 *
 * Where /proc hides processes of others (hidepid), the daemon keeps CAP_SYS_PTRACE: it must read the start time and the
 * parents of whoever takes a lock, and that is what the kernel asks for it. Sessions, pidfds and FUSE itself need nothing.
 */
#ifndef RIGHTS_H
#define RIGHTS_H

#include "mount_options.h"
#include "mountpoint.h"

/* Makes a store that root made so far the user's: a directory that is not his yet, and the files in it. 0 or -1. */
int rights_give_store(const struct options *options);

/* Splits. In the daemon: -1, as the user. In the one who stays root: its exit status, once all is over. */
int rights_split(const struct options *options, const struct fs *fs, const struct mountpoint *mp);

#endif
