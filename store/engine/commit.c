/*
 * Group commit. An update queues its job. If there is no leader, its thread leads: it takes every pending job, lets the engine run them
 * and commit once, and answers all of them. While a leader waits for the disk, the next batch gathers; an update that is alone never
 * changes threads.
 *
 * After a batch the leader makes the first caller that waits in commit_update() the next leader. A submitted job has no waiting thread. If
 * only such jobs are pending, the queue has no leader while the batch is answered: the next caller takes them, and otherwise the old leader
 * leads again. A leader whose own job is done must return to its caller, so it leads such a batch only once: the first thread that submits
 * a job meanwhile blocks and leads the next one.
 *
 * Without more, half of the callers would always be in the running batch and the other half in the next one. So a leader first waits a
 * fraction of a commit's time for the callers of the last batch, which tend to come back at once.
 */
#include "commit.h"

#include "engine_time.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GATHER_PART 4              /* of the last commit's time */
#define GATHER_MAX INT64_C(500000) /* ns: a caller that comes back at once does so within this */

/*
 * State of a job that a thread waits for, which has no `done`; a futex. The queue uses the link while the job is pending, then the leader.
 */
enum job_state {
	JOB_WAITING,
	JOB_ASLEEP, /* waiting, and in the kernel */
	JOB_LEADS,  /* told to lead */
	JOB_DONE,
};

void commit_init(struct commit_queue *queue, struct engine *engine, commit_fn *run, bool gather)
{
	queue->engine = engine;
	queue->run = run;
	queue->gather = gather;
	pthread_mutex_init(&queue->lock, NULL);
	STAILQ_INIT(&queue->pending);
}

void commit_destroy(struct commit_queue *queue)
{
	pthread_mutex_destroy(&queue->lock);
}

static unsigned int job_wait(struct store_job *job)
{
	unsigned int state = JOB_WAITING;

	if (atomic_compare_exchange_strong(&job->state, &state, JOB_ASLEEP))
		state = JOB_ASLEEP;
	while (state == JOB_ASLEEP) {
		(void)syscall(SYS_futex, &job->state, FUTEX_WAIT_PRIVATE, JOB_ASLEEP, NULL, NULL, 0);
		state = atomic_load(&job->state);
	}
	return state;
}

/*
 * The job is on its caller's stack, which may return as soon as the state is set. Waking an address that no thread sleeps on does
 * nothing.
 */
static void job_tell(struct store_job *job, unsigned int state)
{
	if (atomic_exchange(&job->state, state) == JOB_ASLEEP)
		(void)syscall(SYS_futex, &job->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void commit_count(struct commit_queue *queue, uint64_t updates)
{
	size_t i = 0;

	atomic_fetch_add_explicit(&queue->updates, updates, memory_order_relaxed);
	atomic_fetch_add_explicit(&queue->commits, 1, memory_order_relaxed);
	while (i < STORE_BATCHES - 1 && updates > UINT64_C(1) << i)
		i++;
	atomic_fetch_add_explicit(&queue->batches[i], 1, memory_order_relaxed);
}

void commit_stats(const struct commit_queue *queue, struct store_stats *out)
{
	out->updates = atomic_load_explicit(&queue->updates, memory_order_relaxed);
	out->commits = atomic_load_explicit(&queue->commits, memory_order_relaxed);
	out->commit_time = atomic_load_explicit(&queue->commit_time, memory_order_relaxed);
	out->waiting = atomic_load_explicit(&queue->waiting, memory_order_relaxed);
	for (size_t i = 0; i < STORE_BATCHES; i++)
		out->batches[i] = atomic_load_explicit(&queue->batches[i], memory_order_relaxed);
}

/* The first job that a thread waits for. */
static struct store_job *pending_waited(const struct commit_queue *queue)
{
	struct store_job *job = STAILQ_FIRST(&queue->pending);

	while (job != NULL && job->done != NULL)
		job = STAILQ_NEXT(job, link);
	return job;
}

/* Hands leadership on, then answers the batch. `self` is the leader's own job. */
static void batch_answer(struct commit_queue *queue, struct job_list *batch, const struct store_job *self)
{
	pthread_mutex_lock(&queue->lock);
	struct store_job *next = pending_waited(queue);
	queue->leading = next != NULL;
	pthread_mutex_unlock(&queue->lock);
	if (next != NULL)
		job_tell(next, JOB_LEADS);

	struct store_job *job = STAILQ_FIRST(batch);
	while (job != NULL) {
		struct store_job *after = STAILQ_NEXT(job, link);

		if (job->done != NULL)
			job->done(job, job->result);
		else if (job != self)
			job_tell(job, JOB_DONE);
		job = after;
	}
}

/* Waits for as many jobs as the last batch had; after a batch of one it does not wait. */
static void batch_gather(struct commit_queue *queue, bool handed_over)
{
	unsigned int here = atomic_load_explicit(&queue->waiting, memory_order_relaxed);
	/* A new leader expects the callers of the last batch beside those that wait already; the old one was in that batch itself. */
	unsigned int expected = queue->last_batch + (handed_over ? here : 0);

	if (!queue->gather || here >= expected)
		return;
	int64_t wait = queue->last_time / GATHER_PART;
	int64_t until = engine_time(CLOCK_MONOTONIC) + (wait < GATHER_MAX ? wait : GATHER_MAX);
	while (atomic_load_explicit(&queue->waiting, memory_order_relaxed) < expected &&
	       engine_time(CLOCK_MONOTONIC) < until)
		(void)sched_yield();
}

static void batch_lead(struct commit_queue *queue, const struct store_job *self, bool handed_over)
{
	struct job_list batch = STAILQ_HEAD_INITIALIZER(batch);

	batch_gather(queue, handed_over);
	pthread_mutex_lock(&queue->lock);
	STAILQ_CONCAT(&batch, &queue->pending);
	queue->last_batch = atomic_exchange_explicit(&queue->waiting, 0, memory_order_relaxed);
	pthread_mutex_unlock(&queue->lock);

	int64_t begun = engine_time(CLOCK_MONOTONIC);
	queue->run(queue->engine, &batch);
	queue->last_time = engine_time(CLOCK_MONOTONIC) - begun;
	atomic_fetch_add_explicit(&queue->commit_time, (uint64_t)queue->last_time, memory_order_relaxed);
	batch_answer(queue, &batch, self);
}

/* Queues a job; true if the caller must lead. `*relieves`: there is a leader, it must return, and the caller must block to lead next. */
static bool job_add(struct commit_queue *queue, struct store_job *job, bool *relieves)
{
	pthread_mutex_lock(&queue->lock);
	bool leads = !queue->leading;
	*relieves = !leads && queue->leader_must_return;
	queue->leading = true;
	queue->leader_must_return = false;
	STAILQ_INSERT_TAIL(&queue->pending, job, link);
	atomic_fetch_add_explicit(&queue->waiting, 1, memory_order_relaxed);
	pthread_mutex_unlock(&queue->lock);
	return leads;
}

/* After a batch: true if jobs are pending without a leader; then the caller leads again. */
static bool leftovers_take(struct commit_queue *queue, bool must_return)
{
	pthread_mutex_lock(&queue->lock);
	bool leads = !queue->leading && !STAILQ_EMPTY(&queue->pending);
	queue->leading = queue->leading || leads;
	queue->leader_must_return = leads ? must_return : queue->leader_must_return;
	pthread_mutex_unlock(&queue->lock);
	return leads;
}

int commit_update(struct commit_queue *queue, store_fn *fn, void *arg)
{
	struct store_job self = { .fn = fn, .arg = arg, .state = JOB_WAITING };
	bool relieves; /* unused: this caller blocks anyway */
	bool leads = job_add(queue, &self, &relieves);

	if (leads || job_wait(&self) == JOB_LEADS) {
		batch_lead(queue, &self, !leads);
		while (leftovers_take(queue, true))
			batch_lead(queue, NULL, true);
	}
	return self.result;
}

/* Fails, so that it is not counted as an update. */
static int nothing(struct store_txn *txn, void *arg)
{
	(void)txn, (void)arg;
	return -ECANCELED;
}

void commit_submit(struct commit_queue *queue, struct store_job *job)
{
	bool relieves;
	bool leads = job_add(queue, job, &relieves);

	for (bool again = false; leads; again = true) {
		batch_lead(queue, NULL, again);
		leads = leftovers_take(queue, false);
	}
	if (relieves)
		(void)commit_update(queue, nothing, NULL);
}
