/*
 * A second thread of the test's process, which has nothing to do but to be there.
 *
 *	struct other_thread thread;
 *	other_thread_start(&thread);	it runs, and thread.tid is known
 *	other_thread_end(&thread);
 */
#ifndef TESTS_OTHER_THREAD_H
#define TESTS_OTHER_THREAD_H

#include <pthread.h>
#include <sys/types.h>

struct other_thread {
	pthread_t id;
	pthread_barrier_t barrier;
	pid_t tid;
};

/* Exits if there can be no thread. */
void other_thread_start(struct other_thread *thread);
void other_thread_end(struct other_thread *thread);

#endif
