/*
 * The engine that keeps a store in one LMDB environment on a local disk: opening it, refusing what cannot work with a line
 * that says what to do, and closing it.
 */
#include "lmdb_store.h"

#include "commit_log.h"
#include "engine_refuse.h"
#include "lmdb_batch.h"
#include "lmdb_check.h"
#include "lmdb_commit.h"
#include "lmdb_copy.h"
#include "lmdb_dir.h"
#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_guard.h"
#include "lmdb_new.h"
#include "lmdb_readers.h"
#include "lmdb_space.h"
#include "lmdb_stamp.h"
#include "lmdb_table.h"
#include "lmdb_view.h"
#include "txn_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DATA_FILE LMDB_DATA_FILE

/* What is wrong with the data file before LMDB sees it; *size gets its size, 0 if it is not there. */
static int data_check(const struct engine *engine, const char *path, uint64_t *size, char *why, size_t whylen)
{
	struct stat st;

	*size = 0;
	if (fstatat(engine->dir.fd, DATA_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return store_refuse(why, whylen, -errno, "store %s: %s: %s", path, DATA_FILE, strerror(errno));
		/* Refuse a store that had one: a new one would lose every lock, and report nothing. */
		if (commit_log_exists(engine->dir.fd))
			return store_refuse(
				why, whylen, -EUCLEAN,
				"store %s: commit.log is there and %s is not: put %s back, or restore the store "
				"from a copy; to begin anew without any lock, move commit.log away too",
				path, DATA_FILE, DATA_FILE);
		if (engine->readonly)
			return store_refuse(why, whylen, -ENOENT, "there is no store in %s", path);
		return 0;
	}
	/* LMDB would take an empty file for a new store, and every lock would be lost without an error. */
	if (st.st_size == 0)
		return store_refuse(why, whylen, -EUCLEAN,
				    "store %s: %s is empty: restore it from a copy; to begin anew without any lock, "
				    "move it and commit.log away",
				    path, DATA_FILE);
	*size = (uint64_t)st.st_size;
	return 0;
}

static int env_refuse(int rc, const char *path, char *why, size_t whylen)
{
	switch (rc) {
	case MDB_INVALID:
		return store_refuse(
			why, whylen, -EUCLEAN,
			"store %s: %s is not an LMDB file or is damaged: restore it from a copy, or use another "
			"--store",
			path, DATA_FILE);
	case MDB_VERSION_MISMATCH:
		return store_refuse(why, whylen, -EPROTO, "store %s: %s was written by another version of LMDB", path,
				    DATA_FILE);
	case EACCES: return store_refuse(why, whylen, -EACCES, "store %s: no permission for its files", path);
	case ESTALE:
		return store_refuse(why, whylen, -EBUSY, "store %s: %s was put in another's place while it was opened",
				    path, DATA_FILE);
	default: return store_refuse(why, whylen, lmdb_errno(rc), "store %s: %s", path, mdb_strerror(rc));
	}
}

/* A file that ends before its last page would kill the process at the first read there. */
static int env_check(const struct engine *engine, const char *path, char *why, size_t whylen)
{
	mdb_filehandle_t fd;
	MDB_envinfo info;
	struct stat st;

	if (mdb_env_info(engine->env, &info) != 0 || mdb_env_get_fd(engine->env, &fd) != 0 || fstat(fd, &st) < 0)
		return store_refuse(why, whylen, -EIO, "store %s: cannot be examined", path);
	uint64_t needed = ((uint64_t)info.me_last_pgno + 1) * engine->page;
	if ((uint64_t)st.st_size < needed)
		return store_refuse(
			why, whylen, -EUCLEAN,
			"store %s: %s is cut short (%llu of %llu bytes): restore it from a copy, or use another --store",
			path, DATA_FILE, (unsigned long long)st.st_size, (unsigned long long)needed);
	return 0;
}

/* The data file, which may have to be made first: there, locked, and in use by no other program. */
static int data_open(struct engine *engine, const char *path, uint64_t max_bytes, uint64_t *size, char *why,
		     size_t whylen)
{
	int rc = data_check(engine, path, size, why, whylen);

	if (rc == 0 && *size == 0) {
		rc = lmdb_data_make(&engine->dir, path, lmdb_map_start(max_bytes, 0));
		if (rc != 0)
			return env_refuse(rc, path, why, whylen);
	}
	if (rc == 0)
		rc = lmdb_guard_data(engine, path, why, whylen);
	return rc == 0 ? lmdb_guard_foreign(engine, path, why, whylen) : rc;
}

/* The store is LMDB's unnamed database. */
static int dbi_open(struct engine *engine)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(engine->env, NULL, MDB_RDONLY, &txn);

	if (rc != 0)
		return rc;
	rc = mdb_dbi_open(txn, NULL, 0, &engine->dbi);
	mdb_txn_abort(txn);
	return rc;
}

static int env_open(struct engine *engine, const char *path, const struct store_options *options, char *why,
		    size_t whylen)
{
	MDB_stat stat;
	uint64_t file_size;
	int rc = data_open(engine, path, options->max_bytes, &file_size, why, whylen);

	if (rc == 0)
		rc = lmdb_check(engine, options->check || !lmdb_stamp_fits(&engine->dir), path, why, whylen);
	if (rc < 0)
		return rc;
	rc = mdb_env_create(&engine->env);
	if (rc != 0)
		return env_refuse(rc, path, why, whylen);
	rc = mdb_env_set_mapsize(engine->env, lmdb_map_start(options->max_bytes, file_size));
	if (rc == 0)
		rc = mdb_env_set_maxreaders(engine->env, LMDB_READERS);
	if (rc == 0)
		rc = lmdb_table_open(engine);
	if (rc == 0)
		rc = mdb_env_stat(engine->env, &stat);
	if (rc != 0)
		return env_refuse(rc, path, why, whylen);
	engine->page = stat.ms_psize;
	rc = env_check(engine, path, why, whylen);
	if (rc < 0)
		return rc;
	rc = dbi_open(engine);
	return rc == 0 ? 0 : env_refuse(rc, path, why, whylen);
}

/* Views come and go all the time: without preference for the writer the map might never get to grow. */
static void locks_init(struct engine *engine)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&engine->map_lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&engine->pool_lock, NULL);
	pthread_mutex_init(&engine->pin_lock, NULL);
	pthread_mutex_init(&engine->look_lock, NULL);
	pthread_mutex_init(&engine->space_lock, NULL);
	pthread_mutex_init(&engine->flusher.lock, NULL);
	pthread_cond_init(&engine->flusher.changed, NULL);
}

static void engine_free(struct engine *engine)
{
	txn_free(engine->writer);
	pthread_cond_destroy(&engine->flusher.changed);
	pthread_mutex_destroy(&engine->flusher.lock);
	pthread_mutex_destroy(&engine->space_lock);
	pthread_mutex_destroy(&engine->look_lock);
	pthread_mutex_destroy(&engine->pin_lock);
	pthread_mutex_destroy(&engine->pool_lock);
	pthread_rwlock_destroy(&engine->map_lock);
	commit_destroy(&engine->queue);
	free(engine);
}

static struct engine *engine_new(const struct store_options *options)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL)
		return NULL;
	engine->readonly = options->readonly;
	engine->sync_off = options->sync == STORE_SYNC_OFF;
	engine->log.fd = -1;
	locks_init(engine);
	commit_init(&engine->queue, engine, lmdb_batch_run, !engine->sync_off);
	SLIST_INIT(&engine->pool);
	engine->writer = txn_new(&lmdb_source, false);
	if (engine->writer == NULL) {
		engine_free(engine);
		return NULL;
	}
	return engine;
}

static void lmdb_close(struct engine *engine)
{
	bool sound = engine->reader != NULL;

	lmdb_commit_end(engine);
	lmdb_view_drain(engine);
	lmdb_readers_unpin(engine);
	if (engine->env != NULL)
		mdb_env_close(engine->env);
	if (sound && !lmdb_is_dead(engine))
		lmdb_stamp_write(&engine->dir);
	lmdb_dir_close(&engine->dir);
	engine_free(engine);
}

static int log_refuse(int rc, const char *path, char *why, size_t whylen)
{
	if (rc == -EUCLEAN)
		return store_refuse(why, whylen, rc,
				    "store %s: commit.log is damaged: restore the store from a copy, or move that file "
				    "away to go on without the newest changes",
				    path);
	return store_refuse(why, whylen, rc, "store %s: commit.log: %s", path, strerror(-rc));
}

static int lmdb_open(struct engine **out, const char *where, const struct store_options *options, char *why,
		     size_t whylen)
{
	if (options->max_bytes != 0 && options->max_bytes < LMDB_LIMIT_MIN)
		return store_refuse(why, whylen, -EINVAL,
				    "store %s: a limit of %llu bytes is too small: give at least %llu", where,
				    (unsigned long long)options->max_bytes, (unsigned long long)LMDB_LIMIT_MIN);
	struct engine *engine = engine_new(options);
	if (engine == NULL)
		return store_refuse(why, whylen, -ENOMEM, "out of memory");
	int rc = lmdb_dir_open(&engine->dir, where, options, why, whylen);
	if (rc < 0) {
		engine_free(engine);
		return rc;
	}
	rc = env_open(engine, where, options, why, whylen);
	if (rc < 0) {
		lmdb_close(engine);
		return rc;
	}
	rc = lmdb_commit_init(engine);
	if (rc < 0) {
		lmdb_close(engine);
		return log_refuse(rc, where, why, whylen);
	}
	lmdb_space_init(engine, options->max_bytes);
	rc = lmdb_commit_start(engine);
	if (rc < 0) {
		lmdb_close(engine);
		return store_refuse(why, whylen, rc, "store %s: its files cannot be written: %s", where, strerror(-rc));
	}
	*out = engine;
	return 0;
}

static int lmdb_update(struct engine *engine, store_fn *fn, void *arg)
{
	return commit_update(&engine->queue, fn, arg);
}

static void lmdb_submit(struct engine *engine, struct store_job *job)
{
	commit_submit(&engine->queue, job);
}

static int lmdb_flush(struct engine *engine)
{
	return commit_update(&engine->queue, NULL, NULL);
}

static void lmdb_now(struct engine *engine, struct store_time *out)
{
	struct timespec steady;
	struct timespec wall;

	(void)engine;
	clock_gettime(CLOCK_BOOTTIME, &steady);
	clock_gettime(CLOCK_REALTIME, &wall);
	out->steady = (int64_t)steady.tv_sec * 1000000000 + steady.tv_nsec;
	out->wall = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec;
}

static void lmdb_stats(struct engine *engine, struct store_stats *out)
{
	commit_stats(&engine->queue, out);
	out->flush_error = lmdb_errno(atomic_load_explicit(&engine->flush_error, memory_order_relaxed));
	out->dead = lmdb_is_dead(engine);
	out->changed = atomic_load_explicit(&engine->changed, memory_order_relaxed);
}

const struct store_engine store_lmdb = {
	.scheme = "lmdb",
	.shared = false,
	.open = lmdb_open,
	.close = lmdb_close,
	.update = lmdb_update,
	.submit = lmdb_submit,
	.flush = lmdb_flush,
	.view = lmdb_view,
	.copy = lmdb_copy,
	.now = lmdb_now,
	.space = lmdb_space,
	.promise = lmdb_promise,
	.stats = lmdb_stats,
};
