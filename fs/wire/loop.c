#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "fair.h"

/* No caller waits for a RELEASE, so one caller alone keeps two threads busy; the third reads the next request. */
#define LOOP_READERS 3

/* Each takes some KiB. Further requests occupy threads and, when no thread is left, wait in the kernel. */
#define LOOP_KEPT 256

/* Interrupts a thread that reads; installed without SA_RESTART. */
#define LOOP_SIGNAL SIGUSR2
#define LOOP_SIGNAL_AGAIN 1000000L /* nanoseconds */

struct worker {
	struct loop *loop;
	pthread_t thread;
	struct fuse_buf buf;
	struct fuse_buf waited;   /* a kept request whose turn has come */
	LIST_ENTRY(worker) link;  /* loop's mutex, as all below */
	SLIST_ENTRY(worker) idle; /* while it sleeps */
	pthread_cond_t wake;
	bool asleep;
	bool reads;          /* reading, or about to */
	uint64_t caught_up;  /* the newest loop_catch_up() at which every request it had read was seen */
	struct share *share; /* used by this thread alone: of its request; NULL: that is kept, or there is none */
};

struct loop {
	struct fs *fs;
	struct fuse_session *session;
	loop_seen_fn *seen;
	unsigned int max;
	sem_t done; /* posted when there is nothing more to read */
	pthread_mutex_t mutex;
	LIST_HEAD(, worker) workers; /* protected by mutex, as all below */
	SLIST_HEAD(, worker) idle;   /* most recently asleep first */
	struct fair *fair;
	unsigned int count;
	unsigned int reading; /* threads that read, or are about to */
	uint64_t catch_ups;
	unsigned int catching_up;
	pthread_cond_t caught_up;
	STAILQ_HEAD(, errand) errands;
	unsigned int kept;    /* requests that will be answered later */
	pthread_cond_t ended; /* signalled when a kept request was answered, once the loop is over */
	bool over;
	int error;
};

static _Thread_local struct worker *self; /* NULL: this thread is not one of the loop's */

static void *worker_run(void *arg);

/* Call with the mutex held, as the next two. */
static bool worker_start(struct loop *loop)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (worker == NULL)
		return false;
	worker->loop = loop;
	pthread_cond_init(&worker->wake, NULL);
	if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0) {
		pthread_cond_destroy(&worker->wake);
		free(worker);
		return false;
	}
	LIST_INSERT_HEAD(&loop->workers, worker, link);
	loop->count++;
	loop->reading++;
	return true;
}

static void worker_wake(struct worker *worker)
{
	worker->asleep = false;
	pthread_cond_signal(&worker->wake);
}

/*
 * Gets another thread to read, which first does the work left for later: an idle one, or a new one; beyond the limit
 * only if `must`. If that fails, the other threads have more to do.
 */
static bool worker_call(struct loop *loop, bool must)
{
	struct worker *next = SLIST_FIRST(&loop->idle);

	if (next == NULL)
		return (must || loop->count < loop->max) && worker_start(loop);
	SLIST_REMOVE_HEAD(&loop->idle, idle);
	loop->reading++;
	worker_wake(next);
	return true;
}

/* Every request that the worker has read so far was seen. Call with the mutex held. */
static void worker_caught_up(struct worker *worker)
{
	struct loop *loop = worker->loop;

	worker->caught_up = loop->catch_ups;
	if (loop->catching_up > 0)
		pthread_cond_broadcast(&loop->caught_up);
}

/*
 * The calling worker has read a request. It stops reading to process it, unless the request is kept for its turn
 * (NULL).
 */
static struct share *reader_leaves(struct worker *worker, const struct fuse_buf *buf)
{
	struct loop *loop = worker->loop;
	struct share *share;
	bool ends;

	pthread_mutex_lock(&loop->mutex);
	ends = loop->seen(loop->fs, buf);
	worker_caught_up(worker);
	share = ends ? fair_enter_end(loop->fair, buf) : fair_enter(loop->fair, buf);
	if (share == NULL) {
		pthread_mutex_unlock(&loop->mutex);
		return NULL;
	}
	worker->reads = false;
	loop->reading--;
	if (loop->reading == 0 && !loop->over)
		(void)worker_call(loop, false);
	pthread_mutex_unlock(&loop->mutex);
	return share;
}

/* Processes a request; returns its share, or NULL if the request is kept. */
static struct share *worker_process(struct worker *worker, const struct fuse_buf *buf, struct share *share)
{
	worker->share = share;
	fuse_session_process_buf(worker->loop->session, buf);
	share = worker->share;
	worker->share = NULL;
	return share;
}

/* Processes kept requests whose turn has come, and errands. Call with the mutex held. */
static void worker_catch_up(struct worker *worker)
{
	struct loop *loop = worker->loop;

	for (;;) {
		struct share *share = fair_next(loop->fair, &worker->waited);
		struct errand *errand = share == NULL ? STAILQ_FIRST(&loop->errands) : NULL;

		if (share == NULL && errand == NULL)
			return;
		if (errand != NULL)
			STAILQ_REMOVE_HEAD(&loop->errands, link);
		pthread_mutex_unlock(&loop->mutex);
		if (errand != NULL) {
			errand->run(errand);
		} else {
			share = worker_process(worker, &worker->waited, share);
			free(worker->waited.mem);
		}
		pthread_mutex_lock(&loop->mutex);
		if (share != NULL)
			fair_leave(loop->fair, share);
	}
}

/* Waits until the worker is to read again; false if the loop is over. */
static bool reader_returns(struct worker *worker, struct share *share)
{
	struct loop *loop = worker->loop;
	bool over;

	pthread_mutex_lock(&loop->mutex);
	if (share != NULL)
		fair_leave(loop->fair, share);
	worker_catch_up(worker);
	if (loop->reading < LOOP_READERS) {
		loop->reading++;
	} else if (!loop->over) {
		SLIST_INSERT_HEAD(&loop->idle, worker, idle);
		worker->asleep = true;
		while (worker->asleep)
			pthread_cond_wait(&worker->wake, &loop->mutex);
		worker_catch_up(worker);
	}
	over = loop->over;
	worker->reads = !over;
	worker_caught_up(worker);
	pthread_mutex_unlock(&loop->mutex);
	return !over;
}

/* Handles an interrupted read: whether the worker is to read again. */
static bool reader_interrupted(struct worker *worker)
{
	bool more;

	pthread_mutex_lock(&worker->loop->mutex);
	more = !worker->loop->over;
	worker->reads = more;
	worker_caught_up(worker);
	pthread_mutex_unlock(&worker->loop->mutex);
	return more;
}

static void loop_end(struct worker *worker, int error)
{
	struct loop *loop = worker->loop;

	pthread_mutex_lock(&loop->mutex);
	worker->reads = false;
	worker_caught_up(worker);
	loop->over = true;
	if (error < 0)
		loop->error = error;
	pthread_mutex_unlock(&loop->mutex);
	fuse_session_exit(loop->session);
	sem_post(&loop->done);
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct loop *loop = worker->loop;
	struct share *share;
	bool more;

	self = worker;
	pthread_mutex_lock(&loop->mutex);
	worker_catch_up(worker);
	more = worker->reads = !loop->over;
	worker_caught_up(worker);
	pthread_mutex_unlock(&loop->mutex);
	while (more) {
		int n = fuse_session_receive_buf(loop->session, &worker->buf);

		if (n == -EINTR) {
			more = reader_interrupted(worker);
			continue;
		}
		if (n <= 0) {
			loop_end(worker, n);
			break;
		}
		share = reader_leaves(worker, &worker->buf);
		if (share == NULL)
			continue;
		more = reader_returns(worker, worker_process(worker, &worker->buf, share));
	}
	return NULL;
}

static void interrupt(int signal_number)
{
	(void)signal_number;
}

/*
 * Interrupts the readers that have not caught up, and waits a moment; false if there are none. A signal that comes just
 * before a reader sleeps is lost, so the caller repeats this. Call with the mutex held.
 */
static bool interrupt_readers(struct loop *loop, uint64_t catch_up)
{
	struct worker *worker;
	struct timespec until;
	bool any = false;

	LIST_FOREACH(worker, &loop->workers, link) {
		if (!worker->reads || worker->caught_up >= catch_up)
			continue;
		any = true;
		pthread_kill(worker->thread, LOOP_SIGNAL);
	}
	if (!any)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOP_SIGNAL_AGAIN;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_cond_timedwait(&loop->caught_up, &loop->mutex, &until);
	return true;
}

void loop_catch_up(void)
{
	struct loop *loop = self == NULL ? NULL : self->loop;
	uint64_t catch_up;

	if (loop == NULL)
		return;
	pthread_mutex_lock(&loop->mutex);
	catch_up = ++loop->catch_ups;
	loop->catching_up++;
	while (!loop->over && interrupt_readers(loop, catch_up))
		;
	loop->catching_up--;
	pthread_mutex_unlock(&loop->mutex);
}

static bool loop_keep(struct turn *out)
{
	struct loop *loop = self == NULL ? NULL : self->loop;
	bool kept = false;

	if (loop == NULL || self->share == NULL)
		return false;
	pthread_mutex_lock(&loop->mutex);
	if (loop->kept < LOOP_KEPT) {
		loop->kept++;
		*out = (struct turn){ loop, self->share };
		self->share = NULL;
		kept = true;
	}
	pthread_mutex_unlock(&loop->mutex);
	return kept;
}

/* One of the loop's own threads will process the requests that may run now. */
static void loop_answered(const struct turn *turn)
{
	struct loop *loop = turn->loop;

	pthread_mutex_lock(&loop->mutex);
	fair_leave(loop->fair, turn->share);
	loop->kept--;
	if (loop->over)
		pthread_cond_signal(&loop->ended);
	else if ((self == NULL || self->loop != loop) && fair_waits(loop->fair))
		(void)worker_call(loop, true);
	pthread_mutex_unlock(&loop->mutex);
}

static void loop_send(const struct turn *turn, struct errand *errand)
{
	struct loop *loop = turn->loop;

	bool sent;

	pthread_mutex_lock(&loop->mutex);
	sent = !loop->over && worker_call(loop, true);
	if (sent)
		STAILQ_INSERT_TAIL(&loop->errands, errand, link);
	pthread_mutex_unlock(&loop->mutex);
	if (!sent)
		errand->run(errand);
}

const struct turns loop_turns = { loop_keep, loop_answered, loop_send };

/*
 * Readers are interrupted, sleepers are woken, and threads that process a request finish it. No thread is cancelled:
 * glibc loads a library for that, and aborts the process if it has no descriptor left.
 */
static void loop_join(struct loop *loop)
{
	struct worker *worker;

	pthread_mutex_lock(&loop->mutex);
	loop->over = true;
	loop->catching_up++;
	LIST_FOREACH(worker, &loop->workers, link)
		worker_wake(worker);
	while (interrupt_readers(loop, UINT64_MAX))
		;
	pthread_mutex_unlock(&loop->mutex);
	/* No thread is started any more. */
	while ((worker = LIST_FIRST(&loop->workers)) != NULL) {
		LIST_REMOVE(worker, link);
		pthread_join(worker->thread, NULL);
		pthread_cond_destroy(&worker->wake);
		free(worker->buf.mem);
		free(worker);
	}
	pthread_mutex_lock(&loop->mutex);
	while (loop->kept > 0)
		pthread_cond_wait(&loop->ended, &loop->mutex);
	pthread_mutex_unlock(&loop->mutex);
}

int loop_run(struct fs *fs, unsigned int max_threads, loop_seen_fn *seen)
{
	struct loop loop = { .fs = fs, .session = fs->session, .max = max_threads, .seen = seen, .fair = fair_new() };
	struct sigaction action = { .sa_handler = interrupt };
	pthread_condattr_t attr;
	bool started;

	if (loop.fair == NULL)
		return -ENOMEM;
	sem_init(&loop.done, 0, 0);
	pthread_mutex_init(&loop.mutex, NULL);
	LIST_INIT(&loop.workers);
	SLIST_INIT(&loop.idle);
	STAILQ_INIT(&loop.errands);
	pthread_cond_init(&loop.ended, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&loop.caught_up, &attr);
	pthread_condattr_destroy(&attr);
	sigemptyset(&action.sa_mask);
	sigaction(LOOP_SIGNAL, &action, NULL);
	pthread_mutex_lock(&loop.mutex);
	started = worker_start(&loop);
	pthread_mutex_unlock(&loop.mutex);
	while (started && !fuse_session_exited(fs->session))
		sem_wait(&loop.done);
	loop_join(&loop);
	fair_free(loop.fair);
	pthread_cond_destroy(&loop.caught_up);
	pthread_cond_destroy(&loop.ended);
	pthread_mutex_destroy(&loop.mutex);
	sem_destroy(&loop.done);
	return started ? loop.error : -EAGAIN;
}
