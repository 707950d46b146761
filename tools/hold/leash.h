/*
 * Does something in a process of its own that cannot be left behind. Whoever is killed, be it with SIGKILL, the other one
 * notices and cleans up: the keeper, which does the work, or the front, which has the pid that others know, passes signals
 * on and ends as the keeper does.
 */
#ifndef TOOLS_LEASH_H
#define TOOLS_LEASH_H

#include <signal.h>
#include <sys/types.h>

#include "command.h"

struct leash {
	pid_t front;                  /* the keeper's parent: gone, once getppid() is another */
	pid_t home;                   /* the front's process group; the keeper has one of its own */
	volatile sig_atomic_t *group; /* the keeper's writes here what must not outlive it */
};

typedef int leash_fn(const struct leash *leash, void *arg);

/* Runs `fn` in the keeper; returns its exit code, or ends as it ended. The keeper gets SIGTERM if the front is killed. */
int leash_run(const struct tool *tool, leash_fn *fn, void *arg);

#endif
