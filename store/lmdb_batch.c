/*
 * Group commit. An update queues its job. If nobody leads, it leads: on its own thread it takes every job that is pending,
 * runs them in one LMDB transaction, commits once and answers all of them. While one leader waits for the disk the next
 * batch gathers by itself, and an update that is alone never changes threads.
 *
 * Whoever waits for its job may be told to lead the next batch. A job that was submitted has nobody who waits: if there are
 * only such, nobody leads while the batch is answered, so that the next who comes takes them along, and after that this
 * thread does if nobody came. A thread that has an answer of its own to give does so for one batch: of those who submit
 * something meanwhile, the first waits to lead the next.
 *
 * Left at that, half the callers would always be in the batch under way and the other half in the next one. So a leader
 * first gives those of the last batch, who tend to come back at once, a fraction of a commit's time to join.
 */
#include "lmdb_engine.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GATHER_PART 4              /* of the last commit's time */
#define GATHER_MAX INT64_C(500000) /* ns, however long that took: those who come back at once do so within this */

/*
 * Of a job that somebody waits for, which has no `done`; a futex. Its function may be NULL: then it is only to settle. The
 * link is queue_lock's while the job is pending, then the leader's.
 */
enum job_state {
	JOB_WAITING,
	JOB_ASLEEP, /* waiting, and in the kernel */
	JOB_LEADS,  /* told to lead */
	JOB_DONE,
};

/* What came of a batch beside its jobs' results. */
struct outcome {
	uint64_t kept; /* functions that returned >= 0 */
	enum keep how; /* the most that one of them asked for */
	struct layer *layer;
};

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
 * Such a job lives on its caller's stack and may be gone as soon as its state is set. Waking an address where nobody sleeps
 * any more does nothing.
 */
static void job_tell(struct store_job *job, unsigned int state)
{
	if (atomic_exchange(&job->state, state) == JOB_ASLEEP)
		(void)syscall(SYS_futex, &job->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Runs one function and takes what it wrote. 0 whatever the function returned, or an LMDB code: the batch failed. */
static int job_run(struct engine *engine, struct store_job *job, struct outcome *outcome)
{
	if (job->fn == NULL) {
		job->result = 0;
		outcome->how = KEEP_SETTLED;
		return 0;
	}
	struct arena_mark mark = layer_mark(outcome->layer);
	engine->reader->layer = outcome->layer;
	txn_lend(engine->writer, layer_arena(outcome->layer));
	job->result = txn_run(engine->writer, engine->reader, job->fn, job->arg);
	if (job->result < 0) {
		layer_return(outcome->layer, mark);
		return 0;
	}
	outcome->kept++;
	if (outcome->how == KEEP_ANY && engine->sync_off && txn_wants_sync(engine->writer))
		outcome->how = KEEP_DURABLE;
	if (txn_writes(engine->writer)->count == 0)
		return 0;
	struct layer *layer = layer_add(outcome->layer, txn_writes(engine->writer));
	if (layer == NULL)
		return ENOMEM;
	layer_drop(outcome->layer);
	outcome->layer = layer;
	lmdb_log_add(&engine->log, txn_writes(engine->writer));
	return 0;
}

/*
 * Whether what is written now would be lost, or granted elsewhere too. Before it is answered as durable that is looked at every
 * time; without waiting for the disk, calls of the system are a good part of a commit, and a moment's commits may be lost anyway.
 */
static bool files_are_gone(struct engine *engine)
{
	return !lmdb_guard_holds(engine, !engine->sync_off) || lmdb_log_is_stuck(&engine->log);
}

/* Runs all jobs from `first` on, or only that one, and keeps what they wrote as one commit. 0 or an LMDB code. */
static int batch_try(struct engine *engine, struct store_job *first, bool alone, struct outcome *outcome)
{
	int rc = 0;

	if (engine->map_size == 0 || atomic_load_explicit(&engine->lost, memory_order_relaxed))
		return MDB_PANIC;
	if (files_are_gone(engine))
		return EIO;
	rc = lmdb_behind_turn(engine);
	if (rc != 0)
		return rc;
	struct arena_mark mark = layer_mark(engine->layer);
	outcome->layer = layer_hold(engine->layer);
	lmdb_log_begin(&engine->log);
	for (struct store_job *r = first; r != NULL && rc == 0; r = alone ? NULL : STAILQ_NEXT(r, link))
		rc = job_run(engine, r, outcome);
	if (rc == 0)
		rc = lmdb_keep(engine, outcome->layer, outcome->how);
	layer_drop(outcome->layer);
	if (rc != 0)
		layer_return(engine->layer, mark);
	return rc;
}

static void batch_count(struct engine *engine, uint64_t updates)
{
	size_t i = 0;

	while (i < STORE_BATCHES - 1 && updates > UINT64_C(1) << i)
		i++;
	atomic_fetch_add_explicit(&engine->batches[i], 1, memory_order_relaxed);
}

/* As batch_try(); a failure becomes everybody's result. Negative errno. */
static int batch_commit(struct engine *engine, struct store_job *first, bool alone)
{
	struct outcome outcome = { .kept = 0 };
	int rc = batch_try(engine, first, alone, &outcome);

	if (lmdb_is_short(engine, rc) && lmdb_keep_room(engine)) {
		outcome = (struct outcome){ .kept = 0 };
		rc = batch_try(engine, first, alone, &outcome);
	}
	if (rc == 0) {
		atomic_fetch_add_explicit(&engine->updates, outcome.kept, memory_order_relaxed);
		atomic_fetch_add_explicit(&engine->commits, 1, memory_order_relaxed);
		batch_count(engine, outcome.kept);
		return 0;
	}
	for (struct store_job *r = first; r != NULL; r = alone ? NULL : STAILQ_NEXT(r, link))
		r->result = lmdb_errno(rc);
	return lmdb_errno(rc);
}

/* Whether one of the jobs only asks for LMDB to get what the log has. */
static bool batch_settles(const struct job_list *batch)
{
	const struct store_job *r = STAILQ_FIRST(batch);

	while (r != NULL && r->fn != NULL)
		r = STAILQ_NEXT(r, link);
	return r != NULL;
}

/*
 * One that asks for too much must not fail the others: if they do not fit together, each is tried alone. So is each if LMDB
 * did not get what the log has: those who did not ask for that need only the log.
 */
static void batch_run(struct engine *engine, struct job_list *batch)
{
	struct store_job *first = STAILQ_FIRST(batch);
	int rc = batch_commit(engine, first, false);

	if ((rc == -ENOSPC || rc == -E2BIG || (rc < 0 && batch_settles(batch))) && STAILQ_NEXT(first, link) != NULL) {
		struct store_job *r;

		STAILQ_FOREACH(r, batch, link)
			(void)batch_commit(engine, r, true);
	}
}

/* The first that somebody waits for. */
static struct store_job *pending_waited(const struct engine *engine)
{
	struct store_job *job = STAILQ_FIRST(&engine->pending);

	while (job != NULL && job->done != NULL)
		job = STAILQ_NEXT(job, link);
	return job;
}

/* Hands leadership on, then answers the batch. `self` is the leader's own job. */
static void batch_answer(struct engine *engine, struct job_list *batch, const struct store_job *self)
{
	pthread_mutex_lock(&engine->queue_lock);
	struct store_job *next = pending_waited(engine);
	engine->leading = next != NULL;
	pthread_mutex_unlock(&engine->queue_lock);
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

static int64_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Waits for as many as were there last time. Whoever was alone then finds nobody to wait for. */
static void batch_gather(struct engine *engine, bool handed_over)
{
	unsigned int here = atomic_load_explicit(&engine->waiting, memory_order_relaxed);
	/* Taking over, the last batch comes on top of those who wait; otherwise this one was part of it. */
	unsigned int expected = engine->last_batch + (handed_over ? here : 0);

	if (engine->sync_off || here >= expected)
		return;
	int64_t wait = engine->last_time / GATHER_PART;
	int64_t until = clock_now() + (wait < GATHER_MAX ? wait : GATHER_MAX);
	while (atomic_load_explicit(&engine->waiting, memory_order_relaxed) < expected && clock_now() < until)
		(void)sched_yield();
}

static void batch_lead(struct engine *engine, const struct store_job *self, bool handed_over)
{
	struct job_list batch = STAILQ_HEAD_INITIALIZER(batch);

	batch_gather(engine, handed_over);
	pthread_mutex_lock(&engine->queue_lock);
	STAILQ_CONCAT(&batch, &engine->pending);
	engine->last_batch = atomic_exchange_explicit(&engine->waiting, 0, memory_order_relaxed);
	pthread_mutex_unlock(&engine->queue_lock);

	engine->begun = clock_now();
	batch_run(engine, &batch);
	engine->last_time = clock_now() - engine->begun;
	atomic_fetch_add_explicit(&engine->commit_time, (uint64_t)engine->last_time, memory_order_relaxed);
	batch_answer(engine, &batch, self);
}

/* Queues a job; true if the caller is to lead. `*relieves`: if not, whoever leads wants to be relieved, by somebody who waits. */
static bool job_add(struct engine *engine, struct store_job *job, bool *relieves)
{
	pthread_mutex_lock(&engine->queue_lock);
	bool leads = !engine->leading;
	*relieves = !leads && engine->weary;
	engine->leading = true;
	engine->weary = false;
	STAILQ_INSERT_TAIL(&engine->pending, job, link);
	atomic_fetch_add_explicit(&engine->waiting, 1, memory_order_relaxed);
	pthread_mutex_unlock(&engine->queue_lock);
	return leads;
}

/* After a batch: whether jobs are left that nobody has taken on, and the caller is to lead again, and is weary of it. */
static bool leftovers_take(struct engine *engine, bool weary)
{
	pthread_mutex_lock(&engine->queue_lock);
	bool leads = !engine->leading && !STAILQ_EMPTY(&engine->pending);
	engine->leading = engine->leading || leads;
	engine->weary = leads ? weary : engine->weary;
	pthread_mutex_unlock(&engine->queue_lock);
	return leads;
}

int lmdb_update(struct engine *engine, store_fn *fn, void *arg)
{
	struct store_job self = { .fn = fn, .arg = arg, .state = JOB_WAITING };
	bool relieves; /* it waits anyway */
	bool leads = job_add(engine, &self, &relieves);

	if (leads || job_wait(&self) == JOB_LEADS) {
		batch_lead(engine, &self, !leads);
		while (leftovers_take(engine, true))
			batch_lead(engine, NULL, true);
	}
	return self.result;
}

/* Changes nothing, and is not counted either. */
static int nothing(struct store_txn *txn, void *arg)
{
	(void)txn, (void)arg;
	return -ECANCELED;
}

void lmdb_submit(struct engine *engine, struct store_job *job)
{
	bool relieves;
	bool leads = job_add(engine, job, &relieves);

	for (bool again = false; leads; again = true) {
		batch_lead(engine, NULL, again);
		leads = leftovers_take(engine, false);
	}
	if (relieves)
		(void)lmdb_update(engine, nothing, NULL);
}

int lmdb_settle(struct engine *engine)
{
	return lmdb_update(engine, NULL, NULL);
}
