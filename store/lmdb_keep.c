/*
 * How a commit is kept. Usually as an entry of the log, and in memory as the layer over LMDB; from time to time the whole
 * layer becomes a transaction of LMDB, and the log begins anew. Such a transaction waits for the disk whatever `sync` says:
 * LMDB without that leaves a damaged file after a crash of the machine. A commit that is too large for the log, or comes while room
 * is low, is a transaction of LMDB at once, together with what the log has: what was answered then never depends on pages
 * that might not be there.
 */
#include "lmdb_engine.h"

#include <bsd/stdlib.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

/* The last key there can be, and too long for a user of the store: nobody reads it or writes it by accident. */
static MDB_val mark_key(unsigned char bytes[STORE_KEY_MAX + 1])
{
	return (MDB_val){ .mv_size = STORE_KEY_MAX + 1, .mv_data = memset(bytes, 0xff, STORE_KEY_MAX + 1) };
}

uint64_t lmdb_mark(const struct engine *engine, MDB_txn *txn)
{
	unsigned char bytes[STORE_KEY_MAX + 1];
	MDB_val key = mark_key(bytes);
	MDB_val value;
	uint64_t mark = 0;

	if (mdb_get(txn, engine->dbi, &key, &value) == 0 && value.mv_size == sizeof(mark))
		memcpy(&mark, value.mv_data, sizeof(mark));
	return le64toh(mark);
}

static int mark_renew(const struct engine *engine, MDB_txn *txn)
{
	unsigned char bytes[STORE_KEY_MAX + 1];
	MDB_val key = mark_key(bytes);
	uint64_t mark;

	do {
		arc4random_buf(&mark, sizeof(mark));
	} while (mark == 0);
	return mdb_put(txn, engine->dbi, &key, &(MDB_val){ .mv_size = sizeof(mark), .mv_data = &mark }, 0);
}

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
 * After a commit that failed. If it was the page that makes a transaction current, nobody knows whether it is on disk:
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

static int layer_apply(struct engine *engine, const struct layer *layer)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(engine->env, NULL, 0, &txn);

	if (rc != 0)
		return rc;
	rc = mark_renew(engine, txn);
	for (size_t i = 0; rc == 0 && i < layer->writes.count; i++)
		rc = write_apply(engine, txn, layer->writes.list[i]);
	if (rc != 0) {
		mdb_txn_abort(txn);
		return rc;
	}
	rc = mdb_txn_commit(txn);
	if (rc != 0 && env_is_dead(engine))
		engine->log.broken = true;
	return rc;
}

/* The old layer's readers keep it. */
static void layer_publish(struct engine *engine, struct layer *layer)
{
	pthread_mutex_lock(&engine->pool_lock);
	struct layer *old = engine->layer;
	engine->layer = layer;
	pthread_mutex_unlock(&engine->pool_lock);
	layer_drop(old);
}

/* LMDB has a new transaction: there is nothing over it yet. */
static int base_renew(struct engine *engine, struct layer *empty)
{
	struct lmdb_view *reader = engine->reader;

	mdb_txn_reset(reader->txn);
	reader->cursor_stale = true;
	int rc = mdb_txn_renew(reader->txn);
	if (rc != 0) {
		atomic_store_explicit(&engine->lost, true, memory_order_relaxed);
		layer_drop(empty);
		return rc;
	}
	empty->base = mdb_txn_id(reader->txn);
	lmdb_log_restart(&engine->log, empty->base, lmdb_mark(engine, reader->txn));
	layer_publish(engine, empty);
	return 0;
}

/* Writes the layer to LMDB, growing the map as often as it takes. */
static int keep_in_lmdb(struct engine *engine, const struct layer *layer)
{
	struct layer *empty = layer_new(0);
	int rc;

	if (empty == NULL)
		return ENOMEM;
	do {
		rc = layer_apply(engine, layer);
	} while (rc == MDB_MAP_FULL && lmdb_map_grow(engine) == 0);
	if (rc != 0) {
		layer_drop(empty);
		return rc;
	}
	rc = base_renew(engine, empty);
	lmdb_room_update(engine);
	return rc;
}

int lmdb_keep(struct engine *engine, struct layer *layer, bool settle)
{
	size_t most = atomic_load_explicit(&engine->layer_max, memory_order_relaxed);

	if (layer == engine->layer && !settle)
		return 0;
	if (settle && layer->writes.count == 0)
		return 0;
	if (settle || layer->cost > most || !lmdb_log_fits(&engine->log))
		return keep_in_lmdb(engine, layer);
	int rc = lmdb_log_write(&engine->log, !engine->sync_off);
	if (rc == 0)
		layer_publish(engine, layer_hold(layer));
	return -rc;
}

int lmdb_keep_init(struct engine *engine)
{
	MDB_txn *txn;
	int rc = lmdb_log_open(&engine->log, engine->dir.fd, engine->readonly);

	if (rc < 0 || engine->readonly)
		return rc;
	rc = lmdb_errno(mdb_txn_begin(engine->env, NULL, MDB_RDONLY, &txn));
	if (rc < 0)
		return rc;
	rc = lmdb_log_read(&engine->log, mdb_txn_id(txn), lmdb_mark(engine, txn), &engine->layer);
	mdb_txn_abort(txn);
	return rc;
}

/* A process that was killed may have left what it wrote to the kernel. Entries must not continue what a crash takes back. */
static int files_sync(struct engine *engine)
{
	int rc = lmdb_errno(mdb_env_sync(engine->env, 1));
	return rc == 0 && engine->layer->writes.count > 0 ? lmdb_log_sync(&engine->log) : rc;
}

int lmdb_keep_start(struct engine *engine)
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
	 * What a crash left in the log is not added to, and what has no mark is not continued. If LMDB has no room, no commit
	 * goes to the log until it has.
	 */
	bool fresh = engine->log.mark != 0 && engine->layer->writes.count == 0;
	if (!fresh && keep_in_lmdb(engine, engine->layer) != 0)
		engine->log.broken = true;
	return 0;
}

void lmdb_keep_end(struct engine *engine)
{
	if (engine->reader != NULL) {
		/* Without entries it cannot be taken for part of a copy that is put in the place of LMDB's file. */
		if (engine->layer->writes.count == 0 || keep_in_lmdb(engine, engine->layer) == 0)
			lmdb_log_void(&engine->log);
		engine->reader->layer = NULL;
		lmdb_view_give(engine, engine->reader);
	}
	layer_drop(engine->layer);
	lmdb_log_close(&engine->log);
}
