/*
 * Who reads an older state, here and in other processes. LMDB uses no page again that was given up after the oldest of them
 * began: while one goes on, every transaction takes new pages, and the file only grows.
 */
#include "lmdb_engine.h"

#include <stdint.h>
#include <stdio.h>

struct oldest {
	uint64_t base;
	bool lags; /* somebody reads an older one */
};

/* A line of LMDB's table of readers: process, thread, and what it reads, "-" if nothing. */
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

void lmdb_readers_check(struct engine *engine)
{
	int dead;

	(void)mdb_reader_check(engine->env, &dead);
}

bool lmdb_readers_lag(struct engine *engine)
{
	if (!table_lags(engine))
		return false;
	lmdb_readers_check(engine);
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
