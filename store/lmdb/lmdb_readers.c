/*
 * Readers of an older state, in this and in other processes. LMDB does not reuse pages that were freed after the oldest
 * reader began: while that reader goes on, every transaction takes new pages, and the file only grows.
 *
 * LMDB's table has only this process, see lmdb_table.c. Another process that reads transaction N locks byte N + 1 of
 * the data file, with a lock that the kernel drops when the process ends, and continues only if N is still the newest.
 * Before each of its own transactions the writer looks for such locks. If there are any, it begins to read the newest
 * transaction itself, and keeps that read open as long as they last: the pin. LMDB does not reuse pages of the pinned
 * transaction or of the one before it.
 *
 *	the reader locks N, and N is the newest: then the writer has not begun N + 2, and looks before that. What it pins
 *	then is N or N + 1, and N is safe.
 */
#include "lmdb_readers.h"

#include "lmdb_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>

struct oldest {
	uint64_t base;
	bool lags; /* a reader has an older transaction */
};

/* Parses a line of LMDB's table of readers: process, thread, and its transaction, "-" if none. */
static int reader_look(const char *line, void *arg)
{
	struct oldest *oldest = arg;
	uintmax_t reads;

	if (sscanf(line, "%*d %*x %ju", &reads) == 1 && reads < oldest->base)
		oldest->lags = true;
	return 0;
}

static bool table_lags(const struct engine *engine)
{
	struct oldest oldest = { .base = mdb_txn_id(engine->reader->txn) };

	(void)mdb_reader_list(engine->env, reader_look, &oldest);
	return oldest.lags;
}

/* --- The writer --- */

/* Whether another process reads transaction `newest` or an older one. */
static bool is_read(const struct engine *engine, uint64_t newest)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = (off_t)newest + 1 };

	return fcntl(engine->dir.data, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void pin_drop(struct engine *engine)
{
	if (engine->pin != NULL)
		mdb_txn_abort(engine->pin);
	engine->pin = NULL;
}

/*
 * The pin stays where it is while a process reads a state that a newer pin would not protect. Call with pin_lock held.
 */
static int pin_look(struct engine *engine)
{
	MDB_envinfo info;
	MDB_txn *txn;
	int rc = mdb_env_info(engine->env, &info);

	if (rc != 0)
		return rc;
	uint64_t newest = info.me_last_txnid;
	if (!is_read(engine, newest)) {
		pin_drop(engine);
		return 0;
	}
	if (engine->pin != NULL && newest >= 2 && is_read(engine, newest - 2))
		return 0;
	rc = mdb_txn_begin(engine->env, NULL, MDB_RDONLY, &txn);
	if (rc != 0)
		return rc;
	pin_drop(engine);
	engine->pin = txn;
	return 0;
}

int lmdb_readers_pin(struct engine *engine)
{
	pthread_mutex_lock(&engine->pin_lock);
	int rc = pin_look(engine);
	pthread_mutex_unlock(&engine->pin_lock);
	return rc;
}

void lmdb_readers_unpin(struct engine *engine)
{
	pthread_mutex_lock(&engine->pin_lock);
	pin_drop(engine);
	pthread_mutex_unlock(&engine->pin_lock);
}

bool lmdb_readers_lag(struct engine *engine)
{
	if (!table_lags(engine))
		return false;
	(void)lmdb_readers_pin(engine);
	return table_lags(engine);
}

void lmdb_readers_stop(struct engine *engine)
{
	pthread_rwlock_wrlock(&engine->map_lock);
	engine->map_held = true;
}

void lmdb_readers_go(struct engine *engine)
{
	engine->map_held = false;
	pthread_rwlock_unlock(&engine->map_lock);
}

/* --- Another process --- */

static int outside_lock(const struct engine *engine, short type, off_t start, off_t len)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };

	return fcntl(engine->dir.data, F_OFD_SETLK, &lock) < 0 ? errno : 0;
}

int lmdb_readers_lock(const struct engine *engine, uint64_t base)
{
	return outside_lock(engine, F_RDLCK, (off_t)base + 1, 1);
}

void lmdb_readers_unlock(const struct engine *engine)
{
	(void)outside_lock(engine, F_UNLCK, 0, 0);
}

static bool is_newest(const struct engine *engine, uint64_t base)
{
	MDB_envinfo info;

	return mdb_env_info(engine->env, &info) == 0 && info.me_last_txnid == base;
}

/* The lock of one view also protects every newer state. */
int lmdb_readers_join(struct engine *engine, uint64_t base)
{
	int rc = 0;

	pthread_mutex_lock(&engine->pool_lock);
	if (engine->outside++ == 0)
		rc = lmdb_readers_lock(engine, base);
	if (rc == 0 && !is_newest(engine, base))
		rc = EAGAIN;
	pthread_mutex_unlock(&engine->pool_lock);
	if (rc != 0)
		lmdb_readers_leave(engine);
	return rc;
}

void lmdb_readers_leave(struct engine *engine)
{
	pthread_mutex_lock(&engine->pool_lock);
	if (--engine->outside == 0)
		lmdb_readers_unlock(engine);
	pthread_mutex_unlock(&engine->pool_lock);
}
