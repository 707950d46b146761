/*
 * LMDB is given what the log has on a thread of its own, so that no commit waits for it. That thread makes one transaction of
 * the layer that is committed at that moment, with a mark chosen beforehand. Meanwhile commits go on, in the log's other
 * half and in layers that contain that one (`under`), and views lie on either of LMDB's transactions. Later, before
 * a batch of its own, the leader takes over: from then on only what came meanwhile is laid over LMDB.
 *
 * It is done only if there is room for the worst case of this and of what may come meanwhile. If it fails nevertheless,
 * nothing is lost: all of it is in the log and in the layer, and the leader makes a transaction of it itself when it is due, as it
 * does when there is little room. Before the leader writes to LMDB, for whatever reason, it waits for this thread.
 */
#include "lmdb_behind.h"

#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_layer.h"
#include "lmdb_log.h"
#include "lmdb_mark.h"
#include "lmdb_room.h"
#include "lmdb_settle.h"

#include <errno.h>
#include <signal.h>

size_t lmdb_behind_writes = LAYER_MAX / 2;

static void state_set(struct lmdb_behind *behind, enum behind_state state)
{
	pthread_mutex_lock(&behind->lock);
	atomic_store_explicit(&behind->state, state, memory_order_release);
	pthread_cond_broadcast(&behind->changed);
	pthread_mutex_unlock(&behind->lock);
}

static enum behind_state state_of(struct lmdb_behind *behind)
{
	return (enum behind_state)atomic_load_explicit(&behind->state, memory_order_acquire);
}

/* Waits until the state is one of these two. */
static enum behind_state state_await(struct lmdb_behind *behind, enum behind_state one, enum behind_state other)
{
	pthread_mutex_lock(&behind->lock);
	while (state_of(behind) != one && state_of(behind) != other)
		pthread_cond_wait(&behind->changed, &behind->lock);
	enum behind_state state = state_of(behind);
	pthread_mutex_unlock(&behind->lock);
	return state;
}

/* Blocks are allocated ahead here too: that takes its time, and the leader has none. */
static void layer_give(struct engine *engine)
{
	struct lmdb_behind *behind = &engine->behind;

	behind->rc = lmdb_settle_apply(engine, behind->layer, behind->mark);
	if (behind->rc != 0)
		return;
	pthread_rwlock_rdlock(&engine->map_lock);
	lmdb_room_update(engine);
	pthread_rwlock_unlock(&engine->map_lock);
}

static void *behind_run(void *arg)
{
	struct engine *engine = arg;

	while (state_await(&engine->behind, BEHIND_BUSY, BEHIND_END) == BEHIND_BUSY) {
		layer_give(engine);
		state_set(&engine->behind, BEHIND_DONE);
	}
	return NULL;
}

static bool thread_start(struct engine *engine)
{
	struct lmdb_behind *behind = &engine->behind;
	sigset_t all;
	sigset_t old;

	if (behind->started || behind->unable)
		return behind->started;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	behind->started = pthread_create(&behind->thread, NULL, behind_run, engine) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	behind->unable = !behind->started;
	return behind->started;
}

static bool is_due(const struct engine *engine)
{
	const struct layer *layer = engine->layer;

	return layer->writes.count + layer->overflow >= lmdb_behind_writes || lmdb_log_fills(&engine->log);
}

static void give(struct engine *engine)
{
	struct lmdb_behind *behind = &engine->behind;
	struct layer *layer = engine->layer;

	if (lmdb_is_dead(engine) || !is_due(engine) || !lmdb_room_is_ample(engine, layer) ||
	    !lmdb_log_can_turn(&engine->log) || !thread_start(engine))
		return;
	uint64_t mark = lmdb_mark_new();
	struct layer *over = layer_over(layer, mark);
	if (over == NULL)
		return;
	behind->layer = layer_hold(layer);
	behind->mark = mark;
	lmdb_log_turn(&engine->log, mark);
	lmdb_publish(engine, over);
	atomic_fetch_add(&engine->turn, 2);
	state_set(behind, BEHIND_BUSY);
}

/* LMDB has it. Nobody else writes to LMDB, so its newest transaction is that one. 0 or an LMDB code. */
static int rest_publish(struct engine *engine)
{
	struct lmdb_view *reader = engine->reader;
	struct layer *rest = layer_rest(engine->layer);

	if (rest == NULL)
		return ENOMEM;
	mdb_txn_reset(reader->txn);
	reader->cursor_stale = true;
	int rc = mdb_txn_renew(reader->txn);
	if (rc == 0 && (mdb_txn_id(reader->txn) != rest->base || lmdb_mark(engine, reader->txn) != engine->behind.mark))
		rc = MDB_PANIC;
	if (rc != 0) {
		atomic_store_explicit(&engine->lost, true, memory_order_relaxed);
		layer_drop(rest);
		return rc;
	}
	lmdb_log_settled(&engine->log, rest->base);
	lmdb_publish(engine, rest);
	return 0;
}

/* What the thread has done becomes known to the leader. 0, or an LMDB code: then it is not known yet. */
static int take_over(struct engine *engine)
{
	struct lmdb_behind *behind = &engine->behind;
	int rc = behind->rc == 0 ? rest_publish(engine) : 0;

	if (rc != 0)
		return rc;
	lmdb_settle_note(engine, behind->rc);
	layer_drop(behind->layer);
	behind->layer = NULL;
	state_set(behind, BEHIND_IDLE);
	return 0;
}

int lmdb_behind_turn(struct engine *engine)
{
	int rc = state_of(&engine->behind) == BEHIND_DONE ? take_over(engine) : 0;

	if (state_of(&engine->behind) == BEHIND_IDLE)
		give(engine);
	/* What could not be taken over for lack of memory is where it was. */
	return rc == ENOMEM ? 0 : rc;
}

int lmdb_behind_wait(struct engine *engine, struct layer *layer, struct layer **rest)
{
	struct lmdb_behind *behind = &engine->behind;
	bool same = layer == engine->layer;

	*rest = layer_hold(layer);
	if (state_of(behind) == BEHIND_IDLE)
		return 0;
	(void)state_await(behind, BEHIND_DONE, BEHIND_DONE);
	bool given = behind->rc == 0;
	int rc = take_over(engine);
	if (rc == 0 && !given)
		return 0;
	layer_drop(*rest);
	*rest = rc != 0 ? NULL : same ? layer_hold(engine->layer) : layer_rest(layer);
	if (rc == 0 && *rest == NULL)
		rc = ENOMEM;
	return rc;
}

void lmdb_behind_end(struct engine *engine)
{
	struct lmdb_behind *behind = &engine->behind;

	if (!behind->started)
		return;
	if (state_await(behind, BEHIND_IDLE, BEHIND_DONE) == BEHIND_DONE)
		(void)take_over(engine);
	state_set(behind, BEHIND_END);
	pthread_join(behind->thread, NULL);
	layer_drop(behind->layer);
}
