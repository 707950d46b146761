/*
 * Does something in a second process that cannot be left behind. The front is the process that the caller started: it passes
 * signals on, and ends as the keeper does. The keeper does the work. If one of them is killed, even with SIGKILL, the other
 * notices and cleans up.
 */
#ifndef TOOLS_FRONT_H
#define TOOLS_FRONT_H

#include <signal.h>
#include <sys/types.h>

#include "command.h"

struct front {
	pid_t pid;                    /* the keeper's parent: gone, once getppid() is another */
	pid_t home;                   /* the front's process group; the keeper has one of its own */
	volatile sig_atomic_t *group; /* shared: the keeper writes here the process group that must not outlive it */
};

typedef int front_fn(const struct front *front, void *arg);

/* Runs `fn` in the keeper; returns its exit code, or ends as it ended. The keeper gets SIGTERM if the front is killed. */
int front_start(const struct tool *tool, front_fn *fn, void *arg);

#endif
