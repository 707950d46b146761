#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "ending.h"
#include "fair.h"

/* No caller waits for a RELEASE, so one caller alone keeps two threads busy; the third reads the next request. */
#define LOOP_READERS 3

/* Requests that are answered later; each takes some KiB. Further ones wait in the kernel. */
#define LOOP_PENDING 256

/* Interrupts a thread that reads; installed without SA_RESTART. */
#define LOOP_SIGNAL SIGUSR2
#define LOOP_SIGNAL_AGAIN 1000000L /* nanoseconds */

struct worker {
	struct loop *loop;
	pthread_t thread;
	struct fuse_buf buf;
	LIST_ENTRY(worker) link;  /* loop's mutex, as all below */
	SLIST_ENTRY(worker) idle; /* while it sleeps */
	pthread_cond_t wake;
	bool asleep;
	bool reads;         /* reading, or about to */
	uint64_t caught_up; /* the newest loop_catch_up() at which every request it had read was seen */
};

struct loop {
	struct fs *fs;
	struct fuse_session *session;
	loop_seen_fn *seen;
	unsigned int max;
	sem_t attention; /* posted when there is nothing more to read, and for endings_expire() */
	pthread_mutex_t mutex;
	LIST_HEAD(, worker) workers; /* protected by mutex, as all below */
	SLIST_HEAD(, worker) idle;   /* most recently asleep first */
	struct fair *fair;
	unsigned int count;
	unsigned int reading; /* threads that read, or are about to */
	unsigned int busy;    /* threads that process a request: each looks for more to do when it is done */
	uint64_t catch_ups;
	unsigned int catching_up;
	pthread_cond_t caught_up;
	struct call_list again; /* calls to be run again */
	unsigned int pending;   /* requests that will be answered later */
	pthread_cond_t ended;   /* signalled when one was answered, once the loop is over */
	bool over;
	int error;
};

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
 * Gets another thread to read, which first does what waits: an idle one, or a new one; beyond the limit only if `must`.
 * If that fails, the other threads have more to do.
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

/* Whether there are so few pending requests that more may be read. */
static bool loop_may_read(const struct loop *loop)
{
	return !loop->over && loop->pending < LOOP_PENDING;
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
 * The calling worker has read a request. It stops reading to process it, unless the request waits for its turn (NULL).
 */
static struct share *reader_leaves(struct worker *worker)
{
	struct loop *loop = worker->loop;
	struct share *share = NULL;

	pthread_mutex_lock(&loop->mutex);
	if (loop->seen(loop->fs, &worker->buf))
		share = fair_enter(loop->fair, &worker->buf);
	worker_caught_up(worker);
	if (share != NULL) {
		worker->reads = false;
		loop->reading--;
		loop->busy++;
		if (loop->reading == 0 && loop_may_read(loop))
			(void)worker_call(loop, false);
	}
	pthread_mutex_unlock(&loop->mutex);
	return share;
}

/*
 * Does what waits for a thread: ends of flocks, requests whose turn has come, calls to be run again. If none reads, and
 * there is no other thread to do so, leaves the rest to other busy ones. Call with the mutex held.
 */
static void worker_catch_up(struct worker *worker)
{
	struct loop *loop = worker->loop;

	loop->busy++;
	for (;;) {
		struct fuse_buf buf = { 0 };
		bool ends = endings_next(loop->fs->endings, &buf);
		struct share *share = ends ? NULL : fair_next(loop->fair, &buf);
		struct call *call = ends || share != NULL ? NULL : TAILQ_FIRST(&loop->again);

		if (call != NULL)
			TAILQ_REMOVE(&loop->again, call, link);
		else if (buf.mem == NULL)
			break;
		pthread_mutex_unlock(&loop->mutex);
		if (call != NULL)
			call->again(call);
		else
			fuse_session_process_buf(loop->session, &buf);
		free(buf.mem);
		pthread_mutex_lock(&loop->mutex);
		if (share != NULL)
			fair_leave(loop->fair, share);
		if (loop->reading == 0 && loop_may_read(loop) && !worker_call(loop, false) && loop->busy > 1)
			break;
	}
	loop->busy--;
}

/*
 * Waits until the worker is to read; false if the loop is over. Call with the mutex held. A worker that was called
 * has counted as reading since then, so that no other was called in its place.
 */
static bool worker_reads(struct worker *worker, bool called)
{
	struct loop *loop = worker->loop;

	for (;;) {
		loop->reading -= called;
		worker_catch_up(worker);
		if (loop->over || (loop->reading < LOOP_READERS && loop_may_read(loop)))
			break;
		SLIST_INSERT_HEAD(&loop->idle, worker, idle);
		worker->asleep = true;
		while (worker->asleep)
			pthread_cond_wait(&worker->wake, &loop->mutex);
		called = !loop->over;
	}
	worker->reads = !loop->over;
	loop->reading += worker->reads;
	worker_caught_up(worker);
	return worker->reads;
}

/* The worker has processed its request: waits until it is to read again; false if the loop is over. */
static bool reader_returns(struct worker *worker, struct share *share)
{
	struct loop *loop = worker->loop;
	bool more;

	pthread_mutex_lock(&loop->mutex);
	loop->busy--;
	fair_leave(loop->fair, share);
	more = worker_reads(worker, false);
	pthread_mutex_unlock(&loop->mutex);
	return more;
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
	sem_post(&loop->attention);
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct loop *loop = worker->loop;
	struct share *share;
	bool more;

	pthread_mutex_lock(&loop->mutex);
	more = worker_reads(worker, true);
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
		share = reader_leaves(worker);
		if (share == NULL)
			continue;
		fuse_session_process_buf(loop->session, &worker->buf);
		more = reader_returns(worker, share);
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

/*
 * Another thread may have read a request and not called loop_seen_fn yet. Readers that sleep in the kernel are
 * interrupted, which shows that they have none.
 */
static void loop_catch_up(struct fs *fs)
{
	struct loop *loop = fs->loop;
	uint64_t catch_up;

	pthread_mutex_lock(&loop->mutex);
	catch_up = ++loop->catch_ups;
	loop->catching_up++;
	while (!loop->over && interrupt_readers(loop, catch_up))
		;
	loop->catching_up--;
	pthread_mutex_unlock(&loop->mutex);
}

static struct share *loop_later(struct fs *fs, uid_t uid)
{
	struct loop *loop = fs->loop;
	struct share *share;

	pthread_mutex_lock(&loop->mutex);
	loop->pending++;
	share = fair_hold(loop->fair, uid);
	pthread_mutex_unlock(&loop->mutex);
	return share;
}

/* Requests that wait may be processed now, and more be read. */
static void loop_ended(struct fs *fs, struct share *share)
{
	struct loop *loop = fs->loop;

	pthread_mutex_lock(&loop->mutex);
	fair_leave(loop->fair, share);
	loop->pending--;
	if (loop->over)
		pthread_cond_signal(&loop->ended);
	else if (fair_waits(loop->fair) || (loop->reading == 0 && loop_may_read(loop)))
		(void)worker_call(loop, loop->busy == 0);
	pthread_mutex_unlock(&loop->mutex);
}

static void loop_again(struct fs *fs, struct call *call)
{
	struct loop *loop = fs->loop;
	bool sent;

	pthread_mutex_lock(&loop->mutex);
	sent = !loop->over && worker_call(loop, true);
	if (sent)
		TAILQ_INSERT_TAIL(&loop->again, call, link);
	pthread_mutex_unlock(&loop->mutex);
	if (!sent)
		call->again(call);
}

static void loop_alarm(struct fs *fs)
{
	sem_post(&fs->loop->attention);
}

const struct wire loop_wire = {
	.later = loop_later,
	.ended = loop_ended,
	.again = loop_again,
	.catch_up = loop_catch_up,
	.alarm = loop_alarm,
};

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
	/* Calls that are put aside for a flock which no thread will end any more. */
	endings_close(loop->fs->endings);
	pthread_mutex_lock(&loop->mutex);
	while (loop->pending > 0)
		pthread_cond_wait(&loop->ended, &loop->mutex);
	pthread_mutex_unlock(&loop->mutex);
}

/* The calling thread has nothing to do but to wait for the end: it looks after the calls that are put aside. */
static void loop_wait(struct loop *loop)
{
	while (!fuse_session_exited(loop->session)) {
		int64_t due = endings_expire(loop->fs->endings);
		struct timespec until = { .tv_sec = due / ATLOCK_SECOND, .tv_nsec = due % ATLOCK_SECOND };

		if (due == INT64_MAX)
			sem_wait(&loop->attention);
		else
			sem_clockwait(&loop->attention, CLOCK_MONOTONIC, &until);
	}
}

int loop_run(struct fs *fs, unsigned int max_threads, loop_seen_fn *seen)
{
	struct loop loop = {
		.fs = fs, .session = fs->session, .max = max_threads, .seen = seen, .fair = fair_new(max_threads)
	};
	struct sigaction action = { .sa_handler = interrupt };
	pthread_condattr_t attr;
	bool started;

	if (loop.fair == NULL)
		return -ENOMEM;
	sem_init(&loop.attention, 0, 0);
	pthread_mutex_init(&loop.mutex, NULL);
	LIST_INIT(&loop.workers);
	SLIST_INIT(&loop.idle);
	TAILQ_INIT(&loop.again);
	pthread_cond_init(&loop.ended, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&loop.caught_up, &attr);
	pthread_condattr_destroy(&attr);
	sigemptyset(&action.sa_mask);
	sigaction(LOOP_SIGNAL, &action, NULL);
	fs->loop = &loop;
	pthread_mutex_lock(&loop.mutex);
	started = worker_start(&loop);
	pthread_mutex_unlock(&loop.mutex);
	if (started)
		loop_wait(&loop);
	loop_join(&loop);
	fs->loop = NULL;
	fair_free(loop.fair);
	pthread_cond_destroy(&loop.caught_up);
	pthread_cond_destroy(&loop.ended);
	pthread_mutex_destroy(&loop.mutex);
	sem_destroy(&loop.attention);
	return started ? loop.error : -EAGAIN;
}
