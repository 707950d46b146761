/* Going into the background, and what a process that stays there needs. */
#ifndef DAEMON_H
#define DAEMON_H

#include <stdbool.h>

/* In the parent: waits until the child is ready or dead, and returns the exit status. In the child: returns -1. */
int daemon_fork(int *ready_fd);

/* Lets go of the caller's terminal and pipes; of stderr only if nothing is to be logged there. */
void daemon_detach(bool keep_stderr);

/* Each process that a lock lives with costs a descriptor: as many as there may be. */
void daemon_raise_files(void);

#endif
