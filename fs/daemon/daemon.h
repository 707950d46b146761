/* Going into the background, and what a process that stays there needs. */
#ifndef DAEMON_H
#define DAEMON_H

#include <stdbool.h>

/* In the parent: waits until the child is ready or dead, and returns the exit status. In the child: returns -1. */
int daemon_fork(int *ready_fd);

/* Gives up the caller's terminal and pipes; stderr only if nothing is logged there. */
void daemon_detach(bool keep_stderr);

/* Raises the limit of descriptors as far as allowed: each process that a lock lives with costs one. */
void daemon_raise_files(void);

#endif
