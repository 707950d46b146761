/*
 * What an engine gives the store, and what the store gives an engine. Only engines, store.c, txn.c and the
 * fault-injecting engine of the tests include this.
 *
 * The store keeps each running function's writes in a write set (txn.c) on top of the engine's reads. An engine's
 * `update` therefore is: begin, run the function with txn_run(), and if that returned >= 0 apply the write set with
 * txn_each_write(); a function that fails leaves nothing to undo, and one that must run again starts from an empty set.
 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

#include "store.h"

struct arena;
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

	/* As store_submit(). NULL: it is made of `update`. */
	void (*submit)(struct engine *engine, struct store_job *job);

	/* As store_settle(). NULL: there is nothing to do. */
	int (*settle)(struct engine *engine);

	/* As store_copy(). */
	int (*copy)(struct engine *engine, const char *to);

	void (*now)(struct engine *engine, struct store_time *out);
	void (*room)(struct engine *engine, struct store_room *out);

	/* As store_promise(). NULL: it always has room. */
	void (*promise)(struct engine *engine, uint64_t bytes);
	void (*stats)(struct engine *engine, struct store_stats *out);
};

extern const struct store_engine store_lmdb;

/* One write of a write set: a value, or a removal when `value.data` is NULL. */
struct txn_write {
	struct slice key;
	struct slice value;
};

/* Writes in the order of their keys, one a key. */
struct writes {
	struct txn_write **list;
	size_t count;
};

/* Index of the first write whose key is >= `key`; `*same` says whether it is that key. */
size_t writes_find(const struct writes *writes, struct slice key, bool *same);

/*
 * First key >= `from` that begins with `prefix`, of the writes and of what lies below them together: 0, 1 (none) or a negative
 * errno. `next` reads what lies below, as the engine's function of that name. Removals are passed one at a time, but none that
 * the prefix leaves out.
 */
typedef int next_fn(void *below, struct slice from, struct slice prefix, struct slice *key, struct slice *value);
int writes_next(const struct writes *writes, next_fn *next, void *below, struct slice from, struct slice prefix,
		struct txn_write *out);

/*
 * How a transaction reads what is committed, or comes earlier in the same batch: 0, 1 (none) or a negative errno. `view` is what the
 * engine gave txn_run(). `next` gives the first key >= `from` that begins with `prefix`, which `from` is not before; its
 * `value` may be NULL. What they point to stays until txn_run() returns.
 */
struct txn_source {
	int (*get)(void *view, struct slice key, struct slice *value);
	int (*next)(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value);
};

/* A transaction handle, which an engine keeps and uses again and again on one thread at a time. NULL: no memory. */
struct store_txn *txn_new(const struct txn_source *source, bool readonly);
void txn_free(struct store_txn *txn);

/*
 * From now on, keys and values of the write set are put into the engine's `arena`, where they stay: it keeps them without
 * another copy, or gives them up.
 */
void txn_lend(struct store_txn *txn, struct arena *arena);

/*
 * Empties the write set and runs `fn` over the engine's `view`. Returns what it returned, or the first error that one of
 * its reads or writes met if it went on in spite of that. The write set is valid until the next txn_run().
 */
int txn_run(struct store_txn *txn, void *view, store_fn *fn, void *arg);

/* Calls `each` for every write in key order until it returns non-zero; returns that, or 0. */
int txn_each_write(const struct store_txn *txn, int (*each)(void *arg, const struct txn_write *write), void *arg);

/* The write set. */
const struct writes *txn_writes(const struct store_txn *txn);

/* Whether the function asked for store_txn_sync(). */
bool txn_wants_sync(const struct store_txn *txn);

/* Whether this thread is inside a transaction function. */
bool txn_running(void);

/* As memcmp(), with a prefix before what it begins. */
int slice_compare(struct slice a, struct slice b);
bool slice_begins(struct slice text, struct slice prefix);

/* Writes one line for people into `why` and returns `err`. */
int store_refuse(char *why, size_t whylen, int err, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
