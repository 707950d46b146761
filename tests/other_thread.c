#include "other_thread.h"

#include <stdlib.h>
#include <unistd.h>

static void *thread_main(void *arg)
{
	struct other_thread *thread = arg;

	thread->tid = gettid();
	pthread_barrier_wait(&thread->barrier);
	pthread_barrier_wait(&thread->barrier);
	return NULL;
}

void other_thread_start(struct other_thread *thread)
{
	if (pthread_barrier_init(&thread->barrier, NULL, 2) != 0 ||
	    pthread_create(&thread->id, NULL, thread_main, thread) != 0)
		abort();
	pthread_barrier_wait(&thread->barrier);
}

void other_thread_end(struct other_thread *thread)
{
	pthread_barrier_wait(&thread->barrier);
	pthread_join(thread->id, NULL);
	pthread_barrier_destroy(&thread->barrier);
}
