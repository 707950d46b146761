/*
 * Reads. Beginning a read transaction costs LMDB an allocation and a slot in the reader table; a reset transaction
 * keeps both, so views are taken from a pool and returned to it.
 *
 * A view is a layer over an LMDB transaction. The newest of both are taken one after the other, and LMDB may commit in
 * between. Then their numbers show that they do not belong together, and both are taken again; unless that commit is
 * already part of the layer.
 */
#include "lmdb_view.h"

#include "commit_log.h"
#include "layer.h"
#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_guard.h"
#include "lmdb_mark.h"
#include "lmdb_readers.h"
#include "txn_run.h"
#include "writes.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FOLLOW_TRIES 100
#define MATCH_YIELDS 1000
#define MATCH_TRIES 61000 /* a minute: a disk that takes longer counts as failed */

static int view_get(void *view, struct slice key, struct slice *value)
{
	const struct lmdb_view *v = view;
	MDB_val k = { .mv_size = key.len, .mv_data = (void *)(uintptr_t)key.data };
	MDB_val found;
	const struct txn_write *write = layer_get(v->layer, key);

	if (write != NULL) {
		*value = write->value;
		return value->data == NULL;
	}
	int rc = mdb_get(v->txn, v->engine->dbi, &k, &found);
	if (rc == MDB_NOTFOUND)
		return 1;
	if (rc != 0)
		return lmdb_errno(rc);
	*value = (struct slice){ .data = found.mv_data, .len = found.mv_size };
	return 0;
}

static int view_cursor(struct lmdb_view *view)
{
	int rc = 0;

	if (view->cursor != NULL && !view->cursor_stale)
		return 0;
	view->at.data = NULL;
	if (view->cursor == NULL)
		rc = mdb_cursor_open(view->txn, view->engine->dbi, &view->cursor);
	else
		rc = mdb_cursor_renew(view->txn, view->cursor);
	view->cursor_stale = false;
	return rc;
}

/* Whether `from` is the key under the cursor followed by a NUL, which is the smallest key after it. */
static bool view_goes_on(const struct lmdb_view *view, struct slice from)
{
	const unsigned char *bytes = from.data;

	return view->at.data != NULL && from.len == view->at.len + 1 && bytes[view->at.len] == 0 &&
	       memcmp(bytes, view->at.data, view->at.len) == 0;
}

/* As view_next(), without the layers. */
static int below_next(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	struct lmdb_view *v = view;
	MDB_val k = { .mv_size = from.len, .mv_data = (void *)(uintptr_t)from.data };
	MDB_val found;
	int rc = view_cursor(v);

	if (rc == 0)
		rc = mdb_cursor_get(v->cursor, &k, &found,
				    view_goes_on(v, from) ? MDB_NEXT
				    : from.len == 0       ? MDB_FIRST
							  : MDB_SET_RANGE);
	v->at.data = NULL;
	/* The engine's own key sorts after all keys of the store's users. */
	if (rc == MDB_NOTFOUND || (rc == 0 && k.mv_size > STORE_KEY_MAX))
		return 1;
	if (rc != 0)
		return lmdb_errno(rc);
	*key = (struct slice){ .data = k.mv_data, .len = k.mv_size };
	/* Callers continue from this key, and would loop for ever in a tree whose keys are out of order. */
	if (slice_compare(*key, from) < 0)
		return -EUCLEAN;
	v->at = *key;
	if (!slice_begins(*key, prefix))
		return 1;
	*value = (struct slice){ .data = found.mv_data, .len = found.mv_size };
	return 0;
}

/* As view_next(), without the active layer. */
static int frozen_next(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	const struct layer *frozen = ((const struct lmdb_view *)view)->layer->frozen;
	struct txn_write found;

	if (frozen == NULL)
		return below_next(view, from, prefix, key, value);
	int rc = writes_next(&frozen->writes, below_next, view, from, prefix, &found);
	if (rc != 0)
		return rc;
	*key = found.key;
	*value = found.value;
	return 0;
}

static int view_next(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	const struct lmdb_view *v = view;
	struct txn_write found;
	int rc = writes_next(&v->layer->writes, frozen_next, view, from, prefix, &found);

	if (rc != 0)
		return rc;
	*key = found.key;
	if (value != NULL)
		*value = found.value;
	return 0;
}

const struct txn_source lmdb_source = {
	.get = view_get,
	.next = view_next,
};

static void view_free(struct lmdb_view *view)
{
	if (view->cursor != NULL)
		mdb_cursor_close(view->cursor);
	if (view->txn != NULL)
		mdb_txn_abort(view->txn);
	if (view->joined)
		lmdb_readers_leave(view->engine);
	txn_free(view->handle);
	free(view);
}

static int view_begin(struct engine *engine, struct lmdb_view *view)
{
	if (view->txn != NULL) {
		view->cursor_stale = true;
		return mdb_txn_renew(view->txn);
	}
	int rc = mdb_txn_begin(engine->env, NULL, MDB_RDONLY, &view->txn);
	if (rc != 0)
		view->txn = NULL;
	return rc;
}

static void view_end(struct lmdb_view *view)
{
	mdb_txn_reset(view->txn);
	if (view->joined)
		lmdb_readers_leave(view->engine);
	view->joined = false;
}

static struct lmdb_view *view_new(struct engine *engine)
{
	struct lmdb_view *view = calloc(1, sizeof(*view));

	if (view == NULL)
		return NULL;
	view->engine = engine;
	view->handle = txn_new(&lmdb_source, true);
	if (view->handle == NULL) {
		free(view);
		return NULL;
	}
	return view;
}

static struct layer *layer_newest(struct engine *engine)
{
	pthread_mutex_lock(&engine->pool_lock);
	struct layer *layer = layer_hold(engine->layer);
	pthread_mutex_unlock(&engine->pool_lock);
	return layer;
}

/* Whether the view's layer fits its transaction. A number alone does not identify an LMDB commit. */
static bool view_fits(const struct engine *engine, const struct lmdb_view *view)
{
	const struct layer *layer = view->layer;
	uint64_t base = mdb_txn_id(view->txn);

	return base == layer->base ||
	       (layer->next != 0 && base == layer->base + 1 && lmdb_mark(engine, view->txn) == layer->next);
}

/*
 * The leader has committed a transaction and not yet published its layer: that takes as long as the disk writes one
 * page.
 */
static void match_wait(unsigned int tries)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	if (tries < MATCH_YIELDS)
		(void)sched_yield();
	else
		(void)nanosleep(&pause, NULL);
}

/* The newest layer and the transaction it lies on. 0 or an LMDB code. */
static int view_match(struct engine *engine, struct lmdb_view *view)
{
	for (unsigned int tries = 0; tries < MATCH_TRIES; tries++) {
		view->layer = layer_newest(engine);
		int rc = view_begin(engine, view);
		if (rc == 0 && view_fits(engine, view))
			return 0;
		layer_drop(view->layer);
		if (rc == 0 && atomic_load_explicit(&engine->lost, memory_order_relaxed))
			rc = MDB_PANIC;
		if (rc != 0)
			return rc;
		view_end(view);
		match_wait(tries);
	}
	return EIO;
}

/* Gives the view the layer that the log holds for its transaction. Returns an errno. */
static int layer_follow(struct engine *engine, struct lmdb_view *view)
{
	uint64_t base = mdb_txn_id(view->txn);

	pthread_mutex_lock(&engine->pool_lock);
	int rc = commit_log_read(&engine->log, base, lmdb_mark(engine, view->txn), &engine->layer);
	view->layer = rc == 0 ? layer_hold(engine->layer) : NULL;
	pthread_mutex_unlock(&engine->pool_lock);
	return -rc;
}

/* Begins with the newest transaction, and tells the writer. 0 or an LMDB code. */
static int view_join(struct engine *engine, struct lmdb_view *view)
{
	int rc = EAGAIN;

	for (int i = 0; rc == EAGAIN && i < FOLLOW_TRIES; i++) {
		rc = view_begin(engine, view);
		if (rc != 0)
			return rc;
		rc = lmdb_readers_join(engine, mdb_txn_id(view->txn));
		view->joined = rc == 0;
		if (rc != 0)
			mdb_txn_reset(view->txn);
	}
	return rc;
}

/*
 * As view_match(), in a readonly process: the log on disk is the layer. The writer overwrites entries only after LMDB
 * has its next transaction, so what was read belongs to this transaction if a new view would still begin with it.
 * Otherwise entries that were overwritten meanwhile may look damaged.
 */
static int view_follow(struct engine *engine, struct lmdb_view *view)
{
	int rc = view_join(engine, view);

	for (int i = 0; rc == 0 && i < FOLLOW_TRIES; i++) {
		uint64_t base = mdb_txn_id(view->txn);
		int read = layer_follow(engine, view);

		view_end(view);
		rc = view_join(engine, view);
		if (rc == 0 && mdb_txn_id(view->txn) == base)
			return read;
		layer_drop(view->layer);
		view->layer = NULL;
	}
	return rc != 0 ? rc : EAGAIN;
}

struct lmdb_view *lmdb_view_take(struct engine *engine, int *error)
{
	*error = MDB_PANIC;
	if (engine->map_size == 0 || (!engine->readonly && !lmdb_guard_holds(engine, false)))
		return NULL;
	pthread_mutex_lock(&engine->pool_lock);
	struct lmdb_view *view = SLIST_FIRST(&engine->pool);
	if (view != NULL)
		SLIST_REMOVE_HEAD(&engine->pool, link);
	pthread_mutex_unlock(&engine->pool_lock);

	*error = ENOMEM;
	if (view == NULL)
		view = view_new(engine);
	if (view == NULL)
		return NULL;
	*error = engine->readonly ? view_follow(engine, view) : view_match(engine, view);
	if (*error != 0) {
		view_free(view);
		return NULL;
	}
	return view;
}

void lmdb_view_give(struct engine *engine, struct lmdb_view *view)
{
	view_end(view);
	layer_drop(view->layer);
	view->layer = NULL;
	pthread_mutex_lock(&engine->pool_lock);
	SLIST_INSERT_HEAD(&engine->pool, view, link);
	pthread_mutex_unlock(&engine->pool_lock);
}

void lmdb_view_drain(struct engine *engine)
{
	while (!SLIST_EMPTY(&engine->pool)) {
		struct lmdb_view *view = SLIST_FIRST(&engine->pool);

		SLIST_REMOVE_HEAD(&engine->pool, link);
		view_free(view);
	}
}

/* Another process has grown the file beyond this one's map: that happens only to a readonly store. */
static int view_follow_map(struct engine *engine)
{
	pthread_rwlock_wrlock(&engine->map_lock);
	int rc = mdb_env_set_mapsize(engine->env, 0);
	engine->map_size = rc == 0 ? engine->map_size : 0;
	pthread_rwlock_unlock(&engine->map_lock);
	return rc;
}

int lmdb_view(struct engine *engine, store_fn *fn, void *arg)
{
	int rc;

	pthread_rwlock_rdlock(&engine->map_lock);
	struct lmdb_view *view = lmdb_view_take(engine, &rc);
	for (int i = 0; view == NULL; i++) {
		pthread_rwlock_unlock(&engine->map_lock);
		if (rc == MDB_MAP_RESIZED && i < FOLLOW_TRIES)
			rc = view_follow_map(engine);
		if (rc != 0)
			return lmdb_errno(rc);
		pthread_rwlock_rdlock(&engine->map_lock);
		view = lmdb_view_take(engine, &rc);
	}
	int result = txn_run(view->handle, view, fn, arg);
	lmdb_view_give(engine, view);
	pthread_rwlock_unlock(&engine->map_lock);
	return result;
}
