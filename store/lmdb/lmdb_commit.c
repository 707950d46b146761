/*
 * How a layer is committed. Usually as an entry of the log, and in memory as the layer over LMDB. From time to time a flush makes the whole
 * layer a transaction of LMDB, and the log begins anew: on the flusher's thread if there is plenty of space. Such a transaction waits for
 * the disk whatever `sync` says: LMDB without that leaves a damaged file after a crash of the machine. A commit that is too large for the
 * log, or comes while space is low, is a transaction of LMDB at once, together with what the log has.
 *
 * An answered commit never depends on pages that might be missing: the log has only what LMDB has pages for as soon as no thread or process
 * reads an older state. Until then LMDB may find none, because it does not reuse pages that were given up since. So while space is low and
 * there is a reader, commits go to the log as long as it has the pages; then a commit waits until the readers of this process end. A
 * reader in another process that does not end cannot be helped.
 */
#include "lmdb_commit.h"

#include "commit_log.h"
#include "layer.h"
#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_flush.h"
#include "lmdb_flusher.h"
#include "lmdb_guard.h"
#include "lmdb_mark.h"
#include "lmdb_readers.h"
#include "lmdb_space.h"
#include "lmdb_view.h"

#include <errno.h>

static int commit_in_log(struct engine *engine, struct layer *layer, enum commit_how how)
{
	bool sync = !engine->sync_off;
	int rc = commit_log_write(&engine->log, sync, sync || how == COMMIT_DURABLE);

	if (rc == -ESTALE) {
		lmdb_guard_trip(engine);
		return EIO;
	}
	if (rc == 0)
		lmdb_publish(engine, layer_hold(layer));
	return -rc;
}

static bool log_is_better(struct engine *engine, const struct layer *layer)
{
	if (atomic_load_explicit(&engine->space_low, memory_order_relaxed))
		return lmdb_space_squeezes(engine, commit_log_bytes(&engine->log)) && lmdb_readers_lag(engine);
	return layer_count(layer) + layer_overflow(layer) <= LAYER_MAX && lmdb_space_fits(engine, layer);
}

/* Once LMDB may be dead, it is unknown which of its transactions an entry would continue. */
static bool log_takes_it(const struct engine *engine)
{
	return commit_log_fits(&engine->log) && !lmdb_is_dead(engine);
}

static bool commit_is_done(const struct engine *engine, const struct layer *layer, enum commit_how how)
{
	return layer == engine->layer && (how == COMMIT_ANY || layer_count(layer) == 0);
}

/* By a transaction of LMDB, or if that cannot be by the log. */
static int commit_in_lmdb(struct engine *engine, struct layer *layer, enum commit_how how)
{
	int rc = lmdb_flush_layer(engine, layer);

	if (rc == 0)
		return 0;
	if (lmdb_is_short(engine, rc))
		lmdb_space_short(engine);
	if (how == COMMIT_FLUSHED || layer == engine->layer || !log_takes_it(engine) ||
	    !lmdb_space_squeezes(engine, commit_log_bytes(&engine->log)))
		return rc;
	return commit_in_log(engine, layer, how);
}

/* Whether it could be kept in the log: *rc says how that went. */
static bool commit_quickly(struct engine *engine, struct layer *layer, enum commit_how how, int *rc)
{
	*rc = 0;
	if (commit_is_done(engine, layer, how))
		return true;
	if (how != COMMIT_ANY || !log_takes_it(engine) || !log_is_better(engine, layer))
		return false;
	*rc = commit_in_log(engine, layer, how);
	return true;
}

int lmdb_commit(struct engine *engine, struct layer *layer, enum commit_how how)
{
	struct layer *rest;
	int rc;

	if (commit_quickly(engine, layer, how, &rc))
		return rc;
	rc = lmdb_flusher_wait(engine, layer, &rest);
	if (rc != 0)
		return rc;
	if (!commit_quickly(engine, rest, how, &rc))
		rc = commit_in_lmdb(engine, rest, how);
	layer_drop(rest);
	return rc;
}

bool lmdb_commit_make_space(struct engine *engine)
{
	struct layer *rest;
	int rc = lmdb_flusher_wait(engine, engine->layer, &rest);

	if (rc != 0)
		return false;
	layer_drop(rest);
	lmdb_readers_stop(engine);
	rc = lmdb_flush_all(engine);
	lmdb_readers_go(engine);
	return rc == 0;
}

int lmdb_commit_init(struct engine *engine)
{
	MDB_txn *txn;
	int rc = commit_log_open(&engine->log, engine->dir.fd, engine->readonly);

	if (rc < 0 || engine->readonly)
		return rc;
	rc = lmdb_errno(mdb_txn_begin(engine->env, NULL, MDB_RDONLY, &txn));
	if (rc < 0)
		return rc;
	rc = commit_log_read(&engine->log, mdb_txn_id(txn), lmdb_mark(engine, txn), &engine->layer);
	mdb_txn_abort(txn);
	return rc;
}

/* A process that was killed may have left what it wrote to the kernel. Entries must not continue what a crash takes back. */
static int files_sync(struct engine *engine)
{
	int rc = lmdb_errno(mdb_env_sync(engine->env, 1));
	return rc == 0 && engine->layer->writes.count > 0 ? commit_log_sync(&engine->log) : rc;
}

int lmdb_commit_start(struct engine *engine)
{
	int rc;

	if (engine->readonly)
		return 0;
	rc = files_sync(engine);
	if (rc < 0)
		return rc;
	engine->reader = lmdb_view_take(engine, &rc);
	if (engine->reader == NULL)
		return lmdb_errno(rc);
	layer_drop(engine->reader->layer);
	engine->reader->layer = NULL;
	/*
	 * What a crash left in the log is not added to, and what has no mark is not continued. If LMDB has no space, no commit
	 * goes to the log until it has.
	 */
	bool fresh = engine->log.mark != 0 && engine->layer->writes.count == 0;
	if (!fresh && lmdb_flush_all(engine) != 0)
		engine->log.broken = true;
	return lmdb_is_dead(engine) ? -EIO : 0;
}

void lmdb_commit_end(struct engine *engine)
{
	lmdb_flusher_end(engine);
	if (engine->reader != NULL) {
		/* Without entries it cannot be taken for part of a copy that is put in the place of LMDB's file. */
		if (lmdb_guard_holds(engine, true) && (layer_count(engine->layer) == 0 || lmdb_flush_all(engine) == 0))
			commit_log_void(&engine->log);
		engine->reader->layer = NULL;
		lmdb_view_give(engine, engine->reader);
	}
	layer_drop(engine->layer);
	commit_log_close(&engine->log);
}
