#include "stop.h"

#include <atlock/program.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "cache.h"

#define STOP_AGAIN 10000000L /* nanoseconds */

struct stop {
	struct fs *fs;
	pthread_t thread;
	pthread_t loop;
	atomic_bool ended;
	bool asked; /* a signal asked to stop; valid when the thread has ended */
};

void stop_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void stop_block_signals(void)
{
	sigset_t set;

	stop_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void wake(int signal_number)
{
	(void)signal_number;
}

/* Reads the policy again. A bad one changes nothing. */
static void stop_reload(struct stop *stop)
{
	struct atlock_why why = { .text = "" };
	int err = atlock_reload(stop->fs->al, &why);

	if (err < 0)
		atlock_log(ATLOCK_LOG_ERROR, "the policy was not read again, the old rules hold: %s", why.text);
	else if (err == 0)
		atlock_log(ATLOCK_LOG_INFO, "the policy was read again");
}

/*
 * libfuse checks its flag and then sleeps; a signal between the two would be lost, so it is sent until the loop has
 * noticed.
 */
static void *stop_run(void *arg)
{
	struct stop *stop = arg;
	struct timespec pause = { .tv_nsec = STOP_AGAIN };
	sigset_t set;
	int number;

	stop_signals(&set);
	while (sigwait(&set, &number) != 0 || (number == SIGHUP && !atomic_load(&stop->ended)))
		stop_reload(stop);
	if (atomic_load(&stop->ended))
		return NULL;
	stop->asked = true;
	cache_stop(stop->fs->cache);
	fuse_session_exit(stop->fs->session);
	while (!atomic_load(&stop->ended)) {
		pthread_kill(stop->loop, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

struct stop *stop_start(struct fs *fs)
{
	struct sigaction action = { .sa_handler = wake };
	struct stop *stop = calloc(1, sizeof(*stop));

	if (stop == NULL)
		return NULL;
	stop->fs = fs;
	stop->loop = pthread_self();
	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&stop->thread, NULL, stop_run, stop) == 0)
		return stop;
	free(stop);
	return NULL;
}

bool stop_end(struct stop *stop)
{
	bool asked;

	atomic_store(&stop->ended, true);
	pthread_kill(stop->thread, SIGHUP);
	pthread_join(stop->thread, NULL);
	asked = stop->asked;
	free(stop);
	return asked;
}
