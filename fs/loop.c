#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "fair.h"

/* A close is not waited for, so one caller alone keeps two busy; the third is there for whatever comes next. */
#define LOOP_READERS 3

struct worker {
	struct loop *loop;
	pthread_t thread;
	struct fuse_buf buf;
	struct fuse_buf waited;   /* for its turn; not on the stack, which a cancelled thread leaves as it is */
	LIST_ENTRY(worker) link;  /* loop's mutex, as all below */
	SLIST_ENTRY(worker) idle; /* while it sleeps */
	pthread_cond_t wake;
	bool asleep;
};

struct loop {
	struct fuse_session *session;
	unsigned int max;
	sem_t ended; /* posted when there is nothing more to read */
	pthread_mutex_t mutex;
	LIST_HEAD(, worker) workers; /* mutex, as all below */
	SLIST_HEAD(, worker) idle;   /* who slept last is first */
	struct fair *fair;
	unsigned int count;
	unsigned int reading; /* or about to */
	bool over;
	int error;
};

static void *worker_run(void *arg);

/* Call with the mutex held. Without it the others have more to do. */
static void worker_start(struct loop *loop)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (worker == NULL)
		return;
	worker->loop = loop;
	pthread_cond_init(&worker->wake, NULL);
	if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0) {
		pthread_cond_destroy(&worker->wake);
		free(worker);
		return;
	}
	LIST_INSERT_HEAD(&loop->workers, worker, link);
	loop->count++;
	loop->reading++;
}

/* Call with the mutex held. */
static void worker_wake(struct worker *worker)
{
	worker->asleep = false;
	pthread_cond_signal(&worker->wake);
}

/* The calling worker has a request and reads no more for a while, unless that must wait for its turn (NULL). */
static struct share *reader_leaves(struct loop *loop, const struct fuse_buf *buf)
{
	struct worker *next;
	struct share *share;

	pthread_mutex_lock(&loop->mutex);
	share = fair_enter(loop->fair, buf);
	if (share == NULL) {
		pthread_mutex_unlock(&loop->mutex);
		return NULL;
	}
	loop->reading--;
	next = SLIST_FIRST(&loop->idle);
	if (loop->reading == 0 && !loop->over && next != NULL) {
		SLIST_REMOVE_HEAD(&loop->idle, idle);
		loop->reading++;
		worker_wake(next);
	} else if (loop->reading == 0 && !loop->over && loop->count < loop->max) {
		worker_start(loop);
	}
	pthread_mutex_unlock(&loop->mutex);
	return share;
}

/* Does what waited for its turn. Call with the mutex held. */
static void worker_catch_up(struct worker *worker, struct share *share)
{
	struct loop *loop = worker->loop;

	while ((share = fair_leave(loop->fair, share, &worker->waited)) != NULL) {
		pthread_mutex_unlock(&loop->mutex);
		fuse_session_process_buf(loop->session, &worker->waited);
		free(worker->waited.mem);
		pthread_mutex_lock(&loop->mutex);
	}
}

/* Waits until the worker is to read again; false if nobody is. */
static bool reader_returns(struct worker *worker, struct share *share)
{
	struct loop *loop = worker->loop;
	bool over;

	pthread_mutex_lock(&loop->mutex);
	worker_catch_up(worker, share);
	if (loop->reading < LOOP_READERS) {
		loop->reading++;
	} else if (!loop->over) {
		SLIST_INSERT_HEAD(&loop->idle, worker, idle);
		worker->asleep = true;
		while (worker->asleep)
			pthread_cond_wait(&worker->wake, &loop->mutex);
	}
	over = loop->over;
	pthread_mutex_unlock(&loop->mutex);
	return !over;
}

static void loop_end(struct loop *loop, int error)
{
	pthread_mutex_lock(&loop->mutex);
	loop->over = true;
	if (error < 0)
		loop->error = error;
	pthread_mutex_unlock(&loop->mutex);
	fuse_session_exit(loop->session);
	sem_post(&loop->ended);
}

/* Can only be cancelled while it waits for a request. */
static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct loop *loop = worker->loop;
	struct share *share;
	bool more = true;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (more) {
		int n;

		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		n = fuse_session_receive_buf(loop->session, &worker->buf);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		if (n == -EINTR)
			continue;
		if (n <= 0) {
			loop_end(loop, n);
			break;
		}
		share = reader_leaves(loop, &worker->buf);
		if (share == NULL)
			continue;
		fuse_session_process_buf(loop->session, &worker->buf);
		more = reader_returns(worker, share);
	}
	return NULL;
}

/* Those that read are cancelled, those that sleep are woken, those that answer finish. */
static void loop_join(struct loop *loop)
{
	struct worker *worker;

	pthread_mutex_lock(&loop->mutex);
	loop->over = true;
	LIST_FOREACH(worker, &loop->workers, link) {
		worker_wake(worker);
		pthread_cancel(worker->thread);
	}
	pthread_mutex_unlock(&loop->mutex);
	/* Nobody starts one any more. */
	while ((worker = LIST_FIRST(&loop->workers)) != NULL) {
		LIST_REMOVE(worker, link);
		pthread_join(worker->thread, NULL);
		pthread_cond_destroy(&worker->wake);
		free(worker->buf.mem);
		free(worker);
	}
}

int loop_run(struct fuse_session *session, unsigned int max_threads)
{
	struct loop loop = { .session = session, .max = max_threads, .fair = fair_new() };
	bool started;

	if (loop.fair == NULL)
		return -ENOMEM;
	sem_init(&loop.ended, 0, 0);
	pthread_mutex_init(&loop.mutex, NULL);
	LIST_INIT(&loop.workers);
	SLIST_INIT(&loop.idle);
	pthread_mutex_lock(&loop.mutex);
	worker_start(&loop);
	started = loop.count > 0;
	pthread_mutex_unlock(&loop.mutex);
	while (started && !fuse_session_exited(session))
		sem_wait(&loop.ended);
	loop_join(&loop);
	fair_free(loop.fair);
	pthread_mutex_destroy(&loop.mutex);
	sem_destroy(&loop.ended);
	return started ? loop.error : -EAGAIN;
}
