/*
 * Taking a lock and giving it back by plain system calls: open(O_CREAT|O_EXCL), close, unlink.
 */
#ifndef BENCH_WORK_CYCLE_H
#define BENCH_WORK_CYCLE_H

#include <limits.h>
#include <stdbool.h>

#include "procs.h"

/*
 * A '%' in `directory` stands for the number of the process, from 0. Directories are made if they are not there and can
 * be. Each process stands in its own one, so that no cycle pays for the path to it, or names the lock by its whole path.
 */
struct cycle {
	const char *directory;
	bool absolute;
	char lock[PATH_MAX]; /* as it is opened */
};

/* Over a struct cycle. */
extern const struct work work_cycle;

#endif
