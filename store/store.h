/*
 * Ordered byte keys under transactions. This folder knows engines, commits and durability; it knows nothing of locks.
 *
 *	store_open()                            one engine, chosen by the URI
 *	store_update(), store_view()            from any thread, any number of times
 *	store_submit()                          an update without waiting for its commit
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

#include "store_types.h"
#include "txn.h"

struct store;

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
 * this returns, on this thread or on another that updates the store. It may use the store, but should be quick: other
 * callers of the same commit wait for this thread. Sometimes this call blocks and makes the next commit itself: otherwise one
 * thread in store_update() would have to make all commits for as long as others submit. All jobs are done before store_close().
 */
void store_submit(struct store *store, struct store_job *job);

/* Runs `fn` on one consistent state. Never waits for updates. Returns what `fn` returned. */
int store_view(struct store *store, store_fn *fn, void *arg);

/* As store_view(), for listings: what other hosts of a shared store have changed in the last second may be missing. */
int store_list(struct store *store, store_fn *fn, void *arg);

/*
 * As store_view(), but never asks the engine of a shared store: what other hosts have changed may be missing, and what this host holds may be
 * over.
 */
int store_peek(struct store *store, store_fn *fn, void *arg);

/*
 * Brings what an engine keeps beside its main file for speed into that file, so that a copy of it has everything. What was
 * committed is safe without this.
 */
int store_flush(struct store *store);

/*
 * Writes all that is stored, as of one moment, to a new store in the directory `to`, which must be empty or not there. Others
 * read and write meanwhile. -ENOTEMPTY, -ENOTSUP by an engine that keeps its data elsewhere.
 */
int store_copy(struct store *store, const char *to);

/* The clock of this host that the engine goes by. The hosts of a shared engine have no clock in common. */
void store_now(struct store *store, struct store_time *out);

/* True where other hosts write to the same store: see struct store_share. */
bool store_shared(const struct store *store);

/*
 * Of a shared store, inside an update: the next number for what is called `name`, higher than all earlier ones for it and unlike any
 * other in the store. 1: the engine has no numbers, since only one process writes to it.
 */
int store_number(struct store *store, struct store_txn *txn, struct slice name, uint64_t *out);

/*
 * How many keys one update may read and write; 0: any number. One with more fails with -E2BIG: what can be done in steps looks at
 * store_txn_keys() and stops in time.
 */
size_t store_limit(const struct store *store);

/* This host in a shared store. It begins another life when others have taken it for dead. */
void store_host(struct store *store, struct store_host *out);

/*
 * Inside a transaction of a shared store: the present life of a host; what belongs to an earlier one is void. 0, or 1 if there is no
 * such host. An update that reads this is compared with it.
 */
int store_incarnation(struct store *store, struct store_txn *txn, uint16_t chain, uint64_t *out);

/*
 * Tells other programs of an event, as far as the engine has a way to: `text` is a JSON object. Perhaps no program listens, and nothing is kept. 1: it
 * was not asked to. With `event` NULL it is only asked whether it was. By one thread at a time, outside of transactions.
 */
int store_publish(struct store *store, const char *event, struct slice text);

/* True if a commit is on disk when store_update() returns. */
bool store_durable(const struct store *store);

void store_space(struct store *store, struct store_space *out);

/*
 * So many bytes will have to be written some day, whatever else fills the store: they are kept free beside the reserve. Replaces
 * what was promised before. Called inside an update, so that the newest word is the last; an update that fails may have been
 * heard, and the next one sets it right.
 */
void store_promise(struct store *store, uint64_t bytes);
void store_stats(struct store *store, struct store_stats *out);

#endif
