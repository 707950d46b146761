/*
 * How a layer becomes LMDB's: as one transaction that brings a new mark along and so makes the log's entries void.
 *
 * If there are no pages for that, in pieces: transactions of a part of the writes each, which leave the mark. The log's
 * entries stay good over each of them, because they say what a key's value is and not how it changes. The pages that one
 * piece gives up are there for the next but one, so that a few pages are enough for a layer of any size. Only what was
 * answered may become LMDB's like that.
 */
#include "lmdb_flush.h"

#include "commit_log.h"
#include "layer.h"
#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_mark.h"
#include "lmdb_readers.h"
#include "lmdb_space.h"

#include <errno.h>

#define PIECE ((size_t)256) /* writes to begin with */

static int write_apply(struct engine *engine, MDB_txn *txn, const struct txn_write *write)
{
	MDB_val key = { .mv_size = write->key.len, .mv_data = (void *)(uintptr_t)write->key.data };
	MDB_val value = { .mv_size = write->value.len, .mv_data = (void *)(uintptr_t)write->value.data };

	if (write->value.data != NULL)
		return mdb_put(txn, engine->dbi, &key, &value, 0);
	int rc = mdb_del(txn, engine->dbi, &key, NULL);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

/*
 * After a commit that failed. If it was the page that makes a transaction current, it is unknown whether it is on disk:
 * entries that continue the transaction before might be void, and LMDB does nothing any more. Before that page nothing has
 * changed, and the log goes on.
 */
static bool env_is_dead(const struct engine *engine)
{
	MDB_txn *txn;

	if (mdb_txn_begin(engine->env, NULL, MDB_RDONLY, &txn) != 0)
		return true;
	mdb_txn_abort(txn);
	return false;
}

static int txn_start(struct engine *engine, MDB_txn **out)
{
	int rc = atomic_load(&engine->changed) ? MDB_PANIC : lmdb_readers_pin(engine);

	return rc != 0 ? rc : mdb_txn_begin(engine->env, NULL, 0, out);
}

/* Ends the transaction: commits it, or if something failed before, `rc`, gives it up. 0 or an LMDB code. */
static int txn_end(struct engine *engine, MDB_txn *txn, int rc)
{
	if (rc != 0) {
		mdb_txn_abort(txn);
		return rc;
	}
	rc = mdb_txn_commit(txn);
	if (rc != 0 && env_is_dead(engine))
		atomic_store_explicit(&engine->dead, true, memory_order_relaxed);
	return rc;
}

int lmdb_flush_apply(struct engine *engine, const struct layer *layer, uint64_t mark)
{
	MDB_txn *txn;
	int rc = txn_start(engine, &txn);

	if (rc != 0)
		return rc;
	rc = lmdb_mark_write(engine, txn, mark);
	for (size_t i = 0; rc == 0 && i < layer_count(layer); i++)
		rc = write_apply(engine, txn, layer_at(layer, i));
	return txn_end(engine, txn, rc);
}

/* Part of a layer. None of it: a transaction that changes nothing and lets pages be used that the last one gave up. */
static int piece_apply(struct engine *engine, const struct layer *layer, size_t from, size_t count)
{
	MDB_txn *txn;
	int rc = txn_start(engine, &txn);

	if (rc != 0)
		return rc;
	if (count == 0)
		rc = lmdb_mark_write(engine, txn, lmdb_mark(engine, txn));
	for (size_t i = from; rc == 0 && i < from + count; i++)
		rc = write_apply(engine, txn, layer_at(layer, i));
	return txn_end(engine, txn, rc);
}

/* The old layer's readers keep it. */
void lmdb_publish(struct engine *engine, struct layer *layer)
{
	pthread_mutex_lock(&engine->pool_lock);
	struct layer *old = engine->layer;
	engine->layer = layer;
	pthread_mutex_unlock(&engine->pool_lock);
	layer_drop(old);
}

/* LMDB has a new transaction, and this is what lies over it. */
static int base_renew(struct engine *engine, struct layer *layer)
{
	struct lmdb_view *reader = engine->reader;

	mdb_txn_reset(reader->txn);
	reader->cursor_stale = true;
	int rc = mdb_txn_renew(reader->txn);
	if (rc != 0) {
		atomic_store_explicit(&engine->lost, true, memory_order_relaxed);
		layer_drop(layer);
		return rc;
	}
	layer->base = mdb_txn_id(reader->txn);
	uint64_t mark = lmdb_mark(engine, reader->txn);
	if (mark != engine->log.mark)
		commit_log_restart(&engine->log, layer->base, mark);
	lmdb_publish(engine, layer);
	lmdb_space_update(engine);
	return 0;
}

/* A layer that is too large for LMDB is not a failure of the disk. */
void lmdb_flush_note(struct engine *engine, int rc)
{
	if (rc != MDB_TXN_FULL)
		atomic_store_explicit(&engine->flush_error, lmdb_is_short(engine, rc) ? ENOSPC : rc,
				      memory_order_relaxed);
}

/* Growing the map as often as it takes. */
static int flush_once(struct engine *engine, const struct layer *layer)
{
	struct layer *empty = layer_new(0);
	int rc;

	if (empty == NULL)
		return ENOMEM;
	atomic_fetch_add(&engine->turn, 1);
	do {
		rc = lmdb_flush_apply(engine, layer, lmdb_mark_new());
	} while (rc == MDB_MAP_FULL && lmdb_map_grow(engine) == 0);
	lmdb_flush_note(engine, rc);
	if (rc == 0)
		rc = base_renew(engine, empty);
	else
		layer_drop(empty);
	atomic_fetch_add(&engine->turn, 1);
	return rc;
}

/*
 * If nothing else keeps space low, an empty transaction comes after it: what one gave up can be used only by the next but one,
 * which would not come while adding is refused.
 */
int lmdb_flush_layer(struct engine *engine, const struct layer *layer)
{
	int rc = flush_once(engine, layer);

	if (rc == 0 && lmdb_space_turns(engine))
		(void)flush_once(engine, engine->layer);
	return rc;
}

static int piece_flush(struct engine *engine, size_t from, size_t count)
{
	struct layer *same = layer_copy(engine->layer);

	if (same == NULL)
		return ENOMEM;
	atomic_fetch_add(&engine->turn, 1);
	int rc = piece_apply(engine, same, from, count);
	if (rc == 0)
		rc = base_renew(engine, same);
	else
		layer_drop(same);
	atomic_fetch_add(&engine->turn, 1);
	return rc;
}

/* A piece, or the half of it, or of that; *count is how many writes it had. */
static int piece_flush_some(struct engine *engine, size_t from, size_t *count)
{
	int rc = piece_flush(engine, from, *count);

	while (lmdb_is_short(engine, rc) && *count > 1) {
		*count /= 2;
		rc = piece_flush(engine, from, *count);
	}
	/* The last page may be one that the last piece gave up. */
	if (lmdb_is_short(engine, rc) && piece_flush(engine, 0, 0) == 0)
		rc = piece_flush(engine, from, *count);
	return rc;
}

static int pieces_flush(struct engine *engine)
{
	size_t done = 0;
	/* Of what is not in the log on disk, a crash of the machine must not leave a part. */
	int rc = engine->sync_off ? -commit_log_sync(&engine->log) : 0;

	while (rc == 0 && done < layer_count(engine->layer)) {
		size_t left = layer_count(engine->layer) - done;
		size_t count = left < PIECE ? left : PIECE;

		rc = piece_flush_some(engine, done, &count);
		done += count;
	}
	if (rc != 0)
		return rc;
	struct layer *nothing = layer_new(0);
	if (nothing == NULL)
		return ENOMEM;
	rc = lmdb_flush_layer(engine, nothing);
	layer_drop(nothing);
	return rc;
}

int lmdb_flush_all(struct engine *engine)
{
	int rc = lmdb_flush_layer(engine, engine->layer);

	/* While there are readers, the pages that pieces give up cannot be reused, and pieces need more pages than the whole. */
	return lmdb_is_short(engine, rc) && !lmdb_readers_lag(engine) ? pieces_flush(engine) : rc;
}
