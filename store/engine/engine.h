/*
 * What an engine gives the store. Only engines, store.c and the fault-injecting engine of the tests include this.
 *
 * An engine's `update` is: begin, run the function with txn_run(), and if that returned >= 0 commit what txn_commit() gives: a read set,
 * a write set and durability (txn_run.h). An engine that other hosts write to compares the read set in the same step, and runs the
 * function again on a conflict. An engine that commits on its callers' threads can leave the queue to commit.h.
 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

#include "store_types.h"

struct engine;

struct store_engine {
	const char *scheme; /* "lmdb": what stands before ':' in the URI */
	bool shared;

	/* `where` is the URI without its scheme. On failure fills `why` with store_refuse(). */
	int (*open)(struct engine **out, const char *where, const struct store_options *options, char *why,
		    size_t whylen);
	void (*close)(struct engine *engine);

	/* As store_update() and store_view(); called from many threads at once. */
	int (*update)(struct engine *engine, store_fn *fn, void *arg);
	int (*view)(struct engine *engine, store_fn *fn, void *arg);

	/* As store_list() and store_peek(). NULL: as `view`. */
	int (*list)(struct engine *engine, store_fn *fn, void *arg);
	int (*peek)(struct engine *engine, store_fn *fn, void *arg);

	/* As store_submit(). NULL: it is made of `update`. */
	void (*submit)(struct engine *engine, struct store_job *job);

	/* As store_flush(). NULL: there is nothing to do. */
	int (*flush)(struct engine *engine);

	/* As store_copy(). */
	int (*copy)(struct engine *engine, const char *to);

	/* As the functions of store.h. NULL: not shared. */
	int (*number)(struct store_txn *txn, struct slice name, uint64_t *out);
	void (*host)(struct engine *engine, struct store_host *out);
	int (*incarnation)(struct store_txn *txn, uint16_t chain, uint64_t *out);

	/* As store_limit(). NULL: there is none. */
	size_t (*limit)(const struct engine *engine);

	/* As store_publish(). NULL: never. */
	int (*publish)(struct engine *engine, const char *event, struct slice text);

	void (*now)(struct engine *engine, struct store_time *out);
	void (*space)(struct engine *engine, struct store_space *out);

	/* As store_promise(). NULL: it always has space. */
	void (*promise)(struct engine *engine, uint64_t bytes);
	void (*stats)(struct engine *engine, struct store_stats *out);
};

#endif
