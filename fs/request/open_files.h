/*
 * Which open files a process that is about to wait has: an flock(2) on one of them, inherited or its own, cannot end before its
 * call returns. See atlock_wait_behind().
 */
#ifndef OPEN_FILES_H
#define OPEN_FILES_H

#include "fs.h"

/*
 * Holders that are open files of the process of thread `tid`; how many. None where the process cannot be looked at, and none that may
 * be another open file of the same lock: better a circle that is missed than a wait that is refused for nothing. `out` is to be
 * freed, and may be NULL: threads' stacks are kept small.
 */
size_t behind_files(struct fs *fs, pid_t tid, struct atlock_caller **out);

#endif
