/*
 * A batch of updates as one commit: each function runs on what those before it wrote, and what all of them wrote is kept together.
 */
#include "lmdb_batch.h"

#include "commit_log.h"
#include "layer.h"
#include "lmdb_commit.h"
#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_flusher.h"
#include "lmdb_guard.h"
#include "txn_run.h"

#include <errno.h>

/* What came of a batch beside its jobs' results. */
struct outcome {
	uint64_t kept;       /* functions that returned >= 0 */
	enum commit_how how; /* the most that one of them asked for */
	struct layer *layer;
};

/* Runs one function and takes what it wrote. 0 whatever the function returned, or an LMDB code: the batch failed. */
static int job_run(struct engine *engine, struct store_job *job, struct outcome *outcome)
{
	if (job->fn == NULL) {
		job->result = 0;
		outcome->how = COMMIT_FLUSHED;
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
	struct txn_commit commit = txn_commit(engine->writer);
	outcome->kept++;
	if (outcome->how == COMMIT_ANY && engine->sync_off && commit.durable)
		outcome->how = COMMIT_DURABLE;
	if (commit.writes->count == 0)
		return 0;
	struct layer *layer = layer_add(outcome->layer, commit.writes);
	if (layer == NULL)
		return ENOMEM;
	layer_drop(outcome->layer);
	outcome->layer = layer;
	commit_log_add(&engine->log, commit.writes);
	return 0;
}

/*
 * Whether a commit would be lost, or granted by another daemon too. A durable commit looks every time. With sync=off, system calls are a
 * large part of a commit and the newest commits may be lost anyway, so it looks now and then.
 */
static bool files_are_gone(struct engine *engine)
{
	return !lmdb_guard_holds(engine, !engine->sync_off);
}

/* Runs all jobs from `first` on, or only that one, and keeps what they wrote as one commit. 0 or an LMDB code. */
static int batch_try(struct engine *engine, struct store_job *first, bool alone, struct outcome *outcome)
{
	int rc = 0;

	if (engine->map_size == 0 || atomic_load_explicit(&engine->lost, memory_order_relaxed))
		return MDB_PANIC;
	if (files_are_gone(engine))
		return EIO;
	rc = lmdb_flusher_turn(engine);
	if (rc != 0)
		return rc;
	struct arena_mark mark = layer_mark(engine->layer);
	outcome->layer = layer_hold(engine->layer);
	commit_log_begin(&engine->log);
	for (struct store_job *r = first; r != NULL && rc == 0; r = alone ? NULL : STAILQ_NEXT(r, link))
		rc = job_run(engine, r, outcome);
	if (rc == 0)
		rc = lmdb_commit(engine, outcome->layer, outcome->how);
	layer_drop(outcome->layer);
	if (rc != 0)
		layer_return(engine->layer, mark);
	return rc;
}

/* As batch_try(); a failure becomes the result of each job. Negative errno. */
static int batch_commit(struct engine *engine, struct store_job *first, bool alone)
{
	struct outcome outcome = { .kept = 0 };
	int rc = batch_try(engine, first, alone, &outcome);

	if (lmdb_is_short(engine, rc) && lmdb_commit_make_space(engine)) {
		outcome = (struct outcome){ .kept = 0 };
		rc = batch_try(engine, first, alone, &outcome);
	}
	if (rc == 0) {
		commit_count(&engine->queue, outcome.kept);
		return 0;
	}
	for (struct store_job *r = first; r != NULL; r = alone ? NULL : STAILQ_NEXT(r, link))
		r->result = lmdb_errno(rc);
	return lmdb_errno(rc);
}

/* Whether one of the jobs asks for a flush. */
static bool batch_flushes(const struct job_list *batch)
{
	const struct store_job *r = STAILQ_FIRST(batch);

	while (r != NULL && r->fn != NULL)
		r = STAILQ_NEXT(r, link);
	return r != NULL;
}

/*
 * A job that is too large must not fail the others: if the batch does not fit, each job is tried alone. So is each job if a flush
 * failed: jobs that did not ask for a flush need only the log.
 */
void lmdb_batch_run(struct engine *engine, struct job_list *batch)
{
	struct store_job *first = STAILQ_FIRST(batch);
	int rc = batch_commit(engine, first, false);

	if ((rc == -ENOSPC || rc == -E2BIG || (rc < 0 && batch_flushes(batch))) && STAILQ_NEXT(first, link) != NULL) {
		struct store_job *r;

		STAILQ_FOREACH(r, batch, link)
			(void)batch_commit(engine, r, true);
	}
}
