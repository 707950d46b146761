#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "fair.h"

/* A close is not waited for, so one caller alone keeps two busy; the third is there for whatever comes next. */
#define LOOP_READERS 3

/* Each takes some KiB. Beyond that they take threads, and when there are no more of these, wait in the kernel. */
#define LOOP_KEPT 256

/* Interrupts a thread that reads; without SA_RESTART. */
#define LOOP_SIGNAL SIGUSR2
#define LOOP_SIGNAL_AGAIN 1000000L /* nanoseconds */

struct worker {
	struct loop *loop;
	pthread_t thread;
	struct fuse_buf buf;
	struct fuse_buf waited;   /* for its turn */
	LIST_ENTRY(worker) link;  /* loop's mutex, as all below */
	SLIST_ENTRY(worker) idle; /* while it sleeps */
	pthread_cond_t wake;
	bool asleep;
	bool reads;          /* or is about to */
	uint64_t caught_up;  /* the newest loop_catch_up() since which it has nothing that was not seen */
	struct share *share; /* its own: of the request being processed; NULL: that is kept, or there is none */
};

struct loop {
	struct fs *fs;
	struct fuse_session *session;
	loop_seen_fn *seen;
	unsigned int max;
	sem_t done; /* posted when there is nothing more to read */
	pthread_mutex_t mutex;
	LIST_HEAD(, worker) workers; /* mutex, as all below */
	SLIST_HEAD(, worker) idle;   /* who slept last is first */
	struct fair *fair;
	unsigned int count;
	unsigned int reading; /* or about to */
	uint64_t catch_ups;
	unsigned int catching_up;
	pthread_cond_t caught_up;
	STAILQ_HEAD(, errand) errands;
	unsigned int kept;    /* requests that will be answered later */
	pthread_cond_t ended; /* signalled when one was, once the loop is over */
	bool over;
	int error;
};

static _Thread_local struct worker *self; /* NULL: not one of the loop's threads */

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
 * Another thread to read, and first to do what was left for later: one that sleeps, or a new one, beyond the limit only if it
 * must be. Without it the others have more to do.
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

/* What the worker has read so far was seen. With the mutex held. */
static void worker_caught_up(struct worker *worker)
{
	struct loop *loop = worker->loop;

	worker->caught_up = loop->catch_ups;
	if (loop->catching_up > 0)
		pthread_cond_broadcast(&loop->caught_up);
}

/* The calling worker has a request and reads no more for a while, unless that must wait for its turn (NULL). */
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

/* Processes a request; the share it counts for, or NULL if it is kept. */
static struct share *worker_process(struct worker *worker, const struct fuse_buf *buf, struct share *share)
{
	worker->share = share;
	fuse_session_process_buf(worker->loop->session, buf);
	share = worker->share;
	worker->share = NULL;
	return share;
}

/* Does what waited for its turn, and errands. Call with the mutex held. */
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

/* Waits until the worker is to read again; false if nobody is. */
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

/* Whether the worker is to read again. */
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
 * Interrupts the threads that read and have not caught up, and gives them a moment; false if there are none. A signal that comes
 * just before the thread sleeps is lost, so this is called again. Call with the mutex held.
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

/* One of the loop's own threads comes by soon, and does what may be done now. */
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
 * Those that read are interrupted, those that sleep are woken, those that answer finish. No thread is cancelled: glibc loads a
 * library for that, and aborts the process if it has no descriptor left.
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
	/* Nobody starts one any more. */
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
