/*
 * The flusher: a thread that flushes while commits go on, so that no commit waits for LMDB. It makes one transaction of
 * the layer that is committed at that moment, with a mark chosen beforehand. Meanwhile commits go on, in the log's other
 * half and in a layer over the frozen one, and views lie on either of LMDB's transactions. Later, before
 * a batch of its own, the leader takes over: from then on only what came meanwhile is laid over LMDB.
 *
 * It is done only if there is space for the worst case of this and of what may come meanwhile. If it fails nevertheless,
 * nothing is lost: all of it is in the log and in the layer, and the leader makes a transaction of it itself when it is due, as it
 * does when there is little space. Before the leader writes to LMDB, for whatever reason, it waits for this thread.
 */
#include "lmdb_flusher.h"

#include "commit_log.h"
#include "layer.h"
#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_flush.h"
#include "lmdb_mark.h"
#include "lmdb_space.h"

#include <errno.h>
#include <signal.h>

size_t lmdb_flusher_writes = LAYER_MAX / 2;

static void state_set(struct lmdb_flusher *flusher, enum flusher_state state)
{
	pthread_mutex_lock(&flusher->lock);
	atomic_store_explicit(&flusher->state, state, memory_order_release);
	pthread_cond_broadcast(&flusher->changed);
	pthread_mutex_unlock(&flusher->lock);
}

static enum flusher_state state_of(struct lmdb_flusher *flusher)
{
	return (enum flusher_state)atomic_load_explicit(&flusher->state, memory_order_acquire);
}

/* Waits until the state is one of these two. */
static enum flusher_state state_await(struct lmdb_flusher *flusher, enum flusher_state one, enum flusher_state other)
{
	pthread_mutex_lock(&flusher->lock);
	while (state_of(flusher) != one && state_of(flusher) != other)
		pthread_cond_wait(&flusher->changed, &flusher->lock);
	enum flusher_state state = state_of(flusher);
	pthread_mutex_unlock(&flusher->lock);
	return state;
}

/* Blocks are allocated ahead here too: that may take long, and would delay commits on the leader's thread. */
static void layer_flush(struct engine *engine)
{
	struct lmdb_flusher *flusher = &engine->flusher;

	flusher->rc = lmdb_flush_apply(engine, flusher->layer, flusher->mark);
	if (flusher->rc != 0)
		return;
	pthread_rwlock_rdlock(&engine->map_lock);
	lmdb_space_update(engine);
	pthread_rwlock_unlock(&engine->map_lock);
}

static void *flusher_run(void *arg)
{
	struct engine *engine = arg;

	while (state_await(&engine->flusher, FLUSHER_BUSY, FLUSHER_END) == FLUSHER_BUSY) {
		layer_flush(engine);
		state_set(&engine->flusher, FLUSHER_DONE);
	}
	return NULL;
}

static bool thread_start(struct engine *engine)
{
	struct lmdb_flusher *flusher = &engine->flusher;
	sigset_t all;
	sigset_t old;

	if (flusher->started || flusher->unable)
		return flusher->started;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	flusher->started = pthread_create(&flusher->thread, NULL, flusher_run, engine) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	flusher->unable = !flusher->started;
	return flusher->started;
}

static bool is_due(const struct engine *engine)
{
	const struct layer *layer = engine->layer;

	return layer->writes.count + layer->overflow >= lmdb_flusher_writes || commit_log_fills(&engine->log);
}

static void flush_start(struct engine *engine)
{
	struct lmdb_flusher *flusher = &engine->flusher;
	struct layer *layer = engine->layer;

	if (lmdb_is_dead(engine) || !is_due(engine) || !lmdb_space_is_ample(engine, layer) ||
	    !commit_log_can_turn(&engine->log) || !thread_start(engine))
		return;
	uint64_t mark = lmdb_mark_new();
	struct layer *active = layer_freeze(layer, mark);
	if (active == NULL)
		return;
	flusher->layer = layer_hold(layer);
	flusher->mark = mark;
	commit_log_turn(&engine->log, mark);
	lmdb_publish(engine, active);
	atomic_fetch_add(&engine->turn, 2);
	state_set(flusher, FLUSHER_BUSY);
}

/* The flush succeeded. No other thread writes to LMDB, so its newest transaction is the flusher's. 0 or an LMDB code. */
static int rest_publish(struct engine *engine)
{
	struct lmdb_view *reader = engine->reader;
	struct layer *rest = layer_thaw(engine->layer);

	if (rest == NULL)
		return ENOMEM;
	mdb_txn_reset(reader->txn);
	reader->cursor_stale = true;
	int rc = mdb_txn_renew(reader->txn);
	if (rc == 0 &&
	    (mdb_txn_id(reader->txn) != rest->base || lmdb_mark(engine, reader->txn) != engine->flusher.mark))
		rc = MDB_PANIC;
	if (rc != 0) {
		atomic_store_explicit(&engine->lost, true, memory_order_relaxed);
		layer_drop(rest);
		return rc;
	}
	commit_log_flushed(&engine->log, rest->base);
	lmdb_publish(engine, rest);
	return 0;
}

/* The leader takes over what the thread has done. 0, or an LMDB code: then it is not known yet. */
static int take_over(struct engine *engine)
{
	struct lmdb_flusher *flusher = &engine->flusher;
	int rc = flusher->rc == 0 ? rest_publish(engine) : 0;

	if (rc != 0)
		return rc;
	lmdb_flush_note(engine, flusher->rc);
	layer_drop(flusher->layer);
	flusher->layer = NULL;
	state_set(flusher, FLUSHER_IDLE);
	return 0;
}

int lmdb_flusher_turn(struct engine *engine)
{
	int rc = state_of(&engine->flusher) == FLUSHER_DONE ? take_over(engine) : 0;

	if (state_of(&engine->flusher) == FLUSHER_IDLE)
		flush_start(engine);
	/* Without memory nothing was taken over; the next call tries again. */
	return rc == ENOMEM ? 0 : rc;
}

int lmdb_flusher_wait(struct engine *engine, struct layer *layer, struct layer **rest)
{
	struct lmdb_flusher *flusher = &engine->flusher;
	bool same = layer == engine->layer;

	*rest = layer_hold(layer);
	if (state_of(flusher) == FLUSHER_IDLE)
		return 0;
	(void)state_await(flusher, FLUSHER_DONE, FLUSHER_DONE);
	bool given = flusher->rc == 0;
	int rc = take_over(engine);
	if (rc == 0 && !given)
		return 0;
	layer_drop(*rest);
	*rest = rc != 0 ? NULL : same ? layer_hold(engine->layer) : layer_thaw(layer);
	if (rc == 0 && *rest == NULL)
		rc = ENOMEM;
	return rc;
}

void lmdb_flusher_end(struct engine *engine)
{
	struct lmdb_flusher *flusher = &engine->flusher;

	if (!flusher->started)
		return;
	if (state_await(flusher, FLUSHER_IDLE, FLUSHER_DONE) == FLUSHER_DONE)
		(void)take_over(engine);
	state_set(flusher, FLUSHER_END);
	pthread_join(flusher->thread, NULL);
	layer_drop(flusher->layer);
}
