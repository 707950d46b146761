/*
 * One command at a time in a process of its own, with a text on its standard input: started, watched by a pidfd, and killed with
 * all its children. Private to core/.
 */
#ifndef CORE_HOOK_RUN_H
#define CORE_HOOK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hook_run {
	pid_t pid; /* also its process group; 0: none runs */
	int fd;    /* pidfd, readable once it has ended */
};

/*
 * Starts `sh -c command` in the root directory, with `text` on standard input, output to /dev/null, default signals, and no other
 * descriptor of ours. 0 or a negative errno.
 */
int hook_run_start(struct hook_run *run, const char *command, const char *text, size_t len);

/* 1 if it still runs; 0 if it has ended, and `*status` is that of waitpid(2). */
int hook_run_check(struct hook_run *run, int *status);

/* Kills it and reaps it. */
void hook_run_kill(struct hook_run *run);

#endif
