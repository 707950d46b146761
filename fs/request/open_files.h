/*
 * The open files of a process that is about to wait: an flock(2) on one of them, inherited or its own, cannot end
 * before its call returns. See atlock_wait_behind().
 */
#ifndef OPEN_FILES_H
#define OPEN_FILES_H

#include "fs.h"

/*
 * Holders that are open files of the process of thread `tid`; returns how many. None if /proc does not show the
 * process. Leaves out a holder that the process may not have open, because it has another file of the same lock: better to miss a deadlock than to refuse
 * a wait for nothing. The caller frees `out`, which may be NULL; it is on the heap because threads' stacks are small.
 */
size_t behind_files(struct fs *fs, pid_t tid, struct atlock_caller **out);

/* Whether the process of thread `tid`, or an ancestor of it, has opened a file of this inode that is still open. */
bool files_opened(struct fs *fs, pid_t tid, uint64_t ino);

#endif
