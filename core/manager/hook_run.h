/*
 * One command at a time in a process of its own, with a text on its standard input: started, watched by a descriptor, ended with
 * all it has started. Private to core/.
 */
#ifndef CORE_HOOK_RUN_H
#define CORE_HOOK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hook_run {
	pid_t pid; /* and process group; 0: none runs */
	int fd;    /* pidfd, readable once it has ended */
};

/*
 * Starts `sh -c command` with none of our descriptors but `text` to read, output to nowhere, signals as at first, in the root
 * directory. 0 or a negative errno.
 */
int hook_run_start(struct hook_run *run, const char *command, const char *text, size_t len);

/* 1 if it still runs; else it is gone, 0, and `*status` is as waitpid(2) gives it. */
int hook_run_check(struct hook_run *run, int *status);

/* Kills it and waits for its end. */
void hook_run_kill(struct hook_run *run);

#endif
