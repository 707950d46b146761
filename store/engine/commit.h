/*
 * The queue of updates and its leader: group commit for every engine that commits on its callers' threads.
 *
 *	commit_init(&queue, engine, run, gather)
 *	commit_update(), commit_submit()        from any thread
 *	commit_destroy()                        once every call has returned
 *
 * One thread at a time leads: it takes all jobs that are pending and calls the engine's `run` with them.
 */
#ifndef STORE_COMMIT_H
#define STORE_COMMIT_H

#include "engine.h"

#include <pthread.h>

STAILQ_HEAD(job_list, store_job);

/*
 * Runs the functions of all jobs of a batch, commits what they wrote, and sets the result of each. Calls commit_count() for each commit. On
 * the leader's thread, one at a time. A job's function may be NULL: see commit_update().
 */
typedef void commit_fn(struct engine *engine, struct job_list *batch);

struct commit_queue {
	struct engine *engine;
	commit_fn *run;
	bool gather; /* a commit takes long enough that waiting for others to join pays */

	pthread_mutex_t lock;
	struct job_list pending;      /* lock: not yet taken by a leader */
	bool leading;                 /* lock: a thread leads */
	bool leader_must_return;      /* lock: the leader's own job is done; the next submitter must block and lead */
	_Atomic unsigned int waiting; /* lock to change it: how many are pending */
	unsigned int last_batch;      /* the leader's, as the next: requests in it */
	int64_t last_time;            /* ns it took */

	_Atomic uint64_t updates;
	_Atomic uint64_t commits;
	_Atomic uint64_t batches[STORE_BATCHES];
	_Atomic uint64_t commit_time;
};

void commit_init(struct commit_queue *queue, struct engine *engine, commit_fn *run, bool gather);
void commit_destroy(struct commit_queue *queue);

/* As store_update(). Without `fn` the job only asks the engine to flush what it keeps beside its main file. */
int commit_update(struct commit_queue *queue, store_fn *fn, void *arg);

/* As store_submit(). */
void commit_submit(struct commit_queue *queue, struct store_job *job);

/* A commit of so many updates is done. By the leader. */
void commit_count(struct commit_queue *queue, uint64_t updates);

/* Fills in what the queue counts. */
void commit_stats(const struct commit_queue *queue, struct store_stats *out);

#endif
