/*
 * Child processes for tests: each waits until it is killed, and nothing here sleeps.
 *
 *	struct child c = child_start(NULL, NULL);	it runs now, and has run the function given
 *	child_kill(&c);					it is gone, and a zombie until
 *	child_wait(&c);
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <sys/types.h>

struct child {
	pid_t pid;
	int told; /* what the child's function wrote */
};

/*
 * Forks. The child calls `prepare` (may be NULL) with a descriptor to write to, then waits; it is waiting, or about to,
 * when this returns. It may only do what is safe after a fork in a program with threads.
 */
struct child child_start(void (*prepare)(int tell, void *arg), void *arg);

/* Kills it and returns when it is a zombie: its pid is not free yet. */
void child_kill(struct child *child);

/* Kills it if it still runs, and collects it. */
void child_wait(struct child *child);

/*
 * Called first in main: where the session began outside this pid namespace it has no number here, and no process of it
 * could be told by it. Then the test goes on in a session of its own.
 */
void child_session(void);

#endif
