#include "reading_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <atlock/base.h>

#include "moment.h"

#define PATIENCE 2 /* seconds that a reading may take to end */

struct reading_thread {
	reading_fn *fn;
	void *arg;
	pthread_t thread;
	atomic_bool stop;
	pthread_mutex_t mutex;
	pthread_cond_t asked;
	unsigned wants; /* mutex */
	int64_t began;  /* mutex; 0: it is not reading */
};

/* Call it with the mutex held. Asking wakes it too early, stopping in time. */
static void rest_for(struct reading_thread *thread, int64_t rest)
{
	struct timespec now;
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	until = moment_timespec((int64_t)now.tv_sec * ATLOCK_SECOND + now.tv_nsec + rest);
	while (rest > 0 && err == 0 && !atomic_load(&thread->stop))
		err = pthread_cond_timedwait(&thread->asked, &thread->mutex, &until);
}

static void *thread_main(void *arg)
{
	struct reading_thread *thread = arg;
	unsigned wants;
	int64_t rest;

	pthread_mutex_lock(&thread->mutex);
	while (!atomic_load(&thread->stop)) {
		if (thread->wants == 0) {
			pthread_cond_wait(&thread->asked, &thread->mutex);
			continue;
		}
		wants = thread->wants;
		thread->wants = 0;
		thread->began = moment_steady();
		pthread_mutex_unlock(&thread->mutex);
		rest = thread->fn(thread->arg, wants, &thread->stop);
		pthread_mutex_lock(&thread->mutex);
		thread->began = 0;
		rest_for(thread, rest);
	}
	pthread_mutex_unlock(&thread->mutex);
	return NULL;
}

int reading_thread_start(struct reading_thread **out, reading_fn *fn, void *arg)
{
	struct reading_thread *thread = calloc(1, sizeof(*thread));
	pthread_condattr_t clock;
	sigset_t all;
	sigset_t before;
	int err;

	*out = NULL;
	if (thread == NULL)
		return -ENOMEM;
	thread->fn = fn;
	thread->arg = arg;
	pthread_mutex_init(&thread->mutex, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&thread->asked, &clock);
	pthread_condattr_destroy(&clock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread->thread, NULL, thread_main, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err != 0) {
		free(thread);
		return -err;
	}
	*out = thread;
	return 0;
}

void reading_thread_ask(struct reading_thread *thread, unsigned wants)
{
	pthread_mutex_lock(&thread->mutex);
	thread->wants |= wants;
	pthread_cond_signal(&thread->asked);
	pthread_mutex_unlock(&thread->mutex);
}

int64_t reading_thread_busy(struct reading_thread *thread)
{
	int64_t began;

	pthread_mutex_lock(&thread->mutex);
	began = thread->began;
	pthread_mutex_unlock(&thread->mutex);
	return began == 0 ? 0 : moment_steady() - began;
}

bool reading_thread_stop(struct reading_thread *thread)
{
	struct timespec until;

	pthread_mutex_lock(&thread->mutex);
	atomic_store(&thread->stop, true);
	pthread_cond_signal(&thread->asked);
	pthread_mutex_unlock(&thread->mutex);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	if (pthread_timedjoin_np(thread->thread, NULL, &until) != 0)
		return false;
	pthread_cond_destroy(&thread->asked);
	pthread_mutex_destroy(&thread->mutex);
	free(thread);
	return true;
}
