/*
 * Ordered byte keys under transactions. This folder knows engines, commits and durability; it knows nothing of locks.
 *
 *	store_open()                            one engine, chosen by the URI
 *	store_update(), store_view()            from any thread, any number of times
 *	store_submit()                          an update that nobody waits for
 *	store_close()                           once every call has returned
 *
 * A transaction is a function. The store calls it with a transaction handle, it reads and writes through that handle,
 * and its return value decides: >= 0 keeps the writes, < 0 (a negative errno) drops them. An update function may be
 * called again when the engine met a conflict or had to grow, so it must have no effect but its writes and what it
 * leaves in its argument, which it sets anew each time. Functions do not nest: starting a transaction inside one is
 * -EDEADLK.
 *
 * Errors are negative errnos; 0 is done; 1 is "not there".
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/types.h>

#define STORE_KEY_MAX 510             /* longest key, in bytes; the shortest is 1 */
#define STORE_VALUE_MAX (1024 * 1024) /* longest value */

struct store;
struct store_txn;
struct store_engine;

/* Bytes that somebody else owns. */
struct slice {
	const void *data;
	size_t len;
};

enum store_sync {
	STORE_SYNC_COMMIT, /* a transaction that returned is on disk */
	STORE_SYNC_OFF,    /* a crash of the machine may lose the newest transactions, never others */
};

/* Nanoseconds. `steady` never steps while the store is open; `wall` is what people call the time. */
struct store_time {
	int64_t steady;
	int64_t wall;
};

/* Replaces the system's clocks in tests. */
struct store_clock {
	void (*read)(void *arg, struct store_time *out);
	void *arg;
};

struct store_options {
	enum store_sync sync;
	bool check;         /* look at all of it before anything is read */
	bool readonly;      /* views only; needs an existing store; other processes may have it open */
	uint64_t max_bytes; /* the store's largest size; 0: as the disk allows */
	uid_t owner;        /* a user who is trusted with the store beside root and the user of this process */
	const struct store_clock *clock;   /* NULL: the engine's own */
	const struct store_engine *engine; /* NULL: by the URI's scheme. Tests bring their own (engine.h) */
	void *engine_arg;                  /* handed to such an engine's open */
};

/* How much more fits. All figures in bytes. */
struct store_room {
	uint64_t used; /* size of what is stored, with what the engine keeps for reuse */
	uint64_t free; /* what can still be written before `low` is reached; an estimate */
	uint64_t size; /* what it can grow to, as the limit and the disk are now */
	bool low;      /* refuse whatever adds more than it removes: a reserve is left for what removes */
	bool scarce;   /* half of that reserve is gone, too: refuse whatever can be done without; see store_promise() */
};

#define STORE_BATCHES 8

struct store_stats {
	uint64_t updates; /* update functions that returned >= 0 */
	uint64_t commits; /* transactions of the engine: updates / commits is the mean batch */
	uint64_t batches
		[STORE_BATCHES]; /* commits of at most 1, 2, 4, 8, ... updates, and of more; each in one of them */
	uint64_t commit_time;    /* ns that all of them took, with the functions they ran */
	uint64_t waiting;        /* updates that wait for the next commit */
	int unsettled;           /* negative errno if store_settle(), or the like of it, failed the last time */
	bool dead;               /* nothing works any more until the store is opened again */
	bool changed;            /* because another program wrote to it, moved or removed it */
};

typedef int store_fn(struct store_txn *txn, void *arg);

/* An update to be submitted. The caller fills in the first three and keeps it where it is until `done` is called. */
struct store_job {
	store_fn *fn;
	void *arg;
	void (*done)(struct store_job *job, int result);
	/* The engine's. */
	int result;
	_Atomic unsigned int state;
	STAILQ_ENTRY(store_job) link;
};

/*
 * Opens the store at `uri`: a directory, or "scheme:rest". A missing directory is made. Must be called after the last
 * fork. On failure returns a negative errno and writes one line for people into `why`.
 */
int store_open(struct store **out, const char *uri, const struct store_options *options, char *why, size_t whylen);

/* Ends the store and frees it. NULL is allowed. No transaction may be running. */
void store_close(struct store *store);

/*
 * Runs `fn` in a read-write transaction and makes its writes permanent as store_options.sync says. Concurrent callers
 * share commits; each function still sees the writes of those before it and fails alone. Returns what `fn` returned, or
 * the negative errno of a failed commit; then none of its writes are there.
 */
int store_update(struct store *store, store_fn *fn, void *arg);

/*
 * As store_update(), without waiting for the commit: `done` is called once with what that would have returned, perhaps before
 * this returns, on this thread or on another that updates the store. It may use the store, but should be quick: those whose
 * commit it was share the thread. Now and then this waits for a commit nevertheless, to make the next one: otherwise one that
 * waits in store_update() would have to make them for as long as others are submitted. All jobs are done before store_close().
 */
void store_submit(struct store *store, struct store_job *job);

/* Runs `fn` on one consistent state. Never waits for updates. Returns what `fn` returned. */
int store_view(struct store *store, store_fn *fn, void *arg);

/*
 * Brings what an engine keeps beside its main file for speed into that file, so that a copy of it has everything. What was
 * committed is safe without this.
 */
int store_settle(struct store *store);

/* Value of `key`: 0 or 1 (absent). The bytes stay valid until the transaction function returns. */
int store_get(struct store_txn *txn, struct slice key, struct slice *value);

/*
 * First key >= `from` that begins with `prefix`: 0 or 1 (none). `value` may be NULL. The bytes stay valid until the
 * transaction function returns.
 */
int store_next(struct store_txn *txn, struct slice from, struct slice prefix, struct slice *key, struct slice *value);

/* Sets `key`; both are copied. -EINVAL for a key of a length that is not allowed, -E2BIG for such a value. */
int store_put(struct store_txn *txn, struct slice key, struct slice value);

/* Removes `key`: 0 or 1 (it was not there). */
int store_del(struct store_txn *txn, struct slice key);

/* Removes `key` without a look at whether it is there, for those who know: 0. That it is not does no harm. */
int store_drop(struct store_txn *txn, struct slice key);

/* This transaction is to be on disk before store_update() returns, whatever store_options.sync says. */
void store_txn_sync(struct store_txn *txn);

/*
 * Writes all that is stored, as of one moment, to a new store in the directory `to`, which must be empty or not there. Others
 * read and write meanwhile. -ENOTEMPTY, -ENOTSUP by an engine that keeps its data elsewhere.
 */
int store_copy(struct store *store, const char *to);

/* The engine's clock. A shared engine answers with the clock its hosts have in common. */
void store_now(struct store *store, struct store_time *out);

/* True where other hosts write to the same store: then leases run on the engine's clock. */
bool store_shared(const struct store *store);

/* True if a commit is on disk when store_update() returns. */
bool store_durable(const struct store *store);

void store_room(struct store *store, struct store_room *out);

/*
 * So many bytes will have to be written some day, whatever else fills the store: they are kept free beside the reserve. Replaces
 * what was promised before. Called inside an update, so that the newest word is the last; an update that fails may have been
 * heard, and the next one sets it right.
 */
void store_promise(struct store *store, uint64_t bytes);
void store_stats(struct store *store, struct store_stats *out);

/* A slice of a string, without its NUL. */
static inline struct slice slice_of(const char *text)
{
	return (struct slice){ .data = text, .len = strlen(text) };
}

#endif
