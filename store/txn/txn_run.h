/*
 * Running a transaction function, for engines: its writes are kept in a write set on top of the engine's reads, and the engine applies
 * them when the function returned >= 0. A function that fails leaves nothing to undo, and one that must run again starts from an
 * empty set.
 */
#ifndef STORE_TXN_RUN_H
#define STORE_TXN_RUN_H

#include "reads.h"
#include "txn.h"
#include "writes.h"

struct arena;

/*
 * How a transaction reads what is committed, or comes earlier in the same batch: 0, 1 (none) or a negative errno. `view` is what the
 * engine gave txn_run(). `next` gives the first key >= `from` that begins with `prefix`; `from` is never before `prefix`.
 * `value` may be NULL. What they point to stays until txn_run() returns.
 */
struct txn_source {
	int (*get)(void *view, struct slice key, struct slice *value);
	int (*next)(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value);

	/* Version of `key`; 0: absent. NULL: the engine compares nothing, and update functions record no reads. */
	uint64_t (*version)(void *view, struct slice key);
};

/* A transaction handle, which an engine keeps and uses again and again on one thread at a time. NULL: no memory. */
struct store_txn *txn_new(const struct txn_source *source, bool readonly);
void txn_free(struct store_txn *txn);

/*
 * From now on, keys and values of the write set are put into the engine's `arena`, where they stay: the engine uses them
 * without another copy, or drops them.
 */
void txn_lend(struct store_txn *txn, struct arena *arena);

/*
 * Empties the write set and runs `fn` over the engine's `view`. Returns what it returned, or the first error that one of
 * its reads or writes met if it went on in spite of that. The write set is valid until the next txn_run().
 */
int txn_run(struct store_txn *txn, void *view, store_fn *fn, void *arg);

/*
 * What the engine commits after a function returned >= 0. The read set has each key that the function read from the engine, present or
 * absent, and each key that a scan returned; ranges are not in it. An engine that compares applies the writes only if all of these keys
 * still have these versions, and otherwise calls txn_run() again. Valid until the next txn_run().
 */
struct txn_commit {
	const struct reads *reads; /* NULL if the source has no `version` */
	const struct writes *writes;
	bool durable; /* the function called store_txn_sync() */
};

struct txn_commit txn_commit(const struct store_txn *txn);

/* Whether this thread is inside a transaction function. */
bool txn_running(void);

#endif
