/* Readers of an older state, in this process and in others. */
#ifndef STORE_LMDB_READERS_H
#define STORE_LMDB_READERS_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

/*
 * Call before an LMDB transaction: protects what other processes read. 0 or an LMDB code. And before the environment is
 * closed.
 */
int lmdb_readers_pin(struct engine *engine);
void lmdb_readers_unpin(struct engine *engine);

/*
 * In a readonly process: tells the writer that transaction `base` is read, and that it no longer is. EAGAIN: `base` is
 * not the newest any more, and the writer was told nothing.
 */
int lmdb_readers_join(struct engine *engine, uint64_t base);
void lmdb_readers_leave(struct engine *engine);

/* The same without checking whether it is the newest. 0 or an errno. */
int lmdb_readers_lock(const struct engine *engine, uint64_t base);
void lmdb_readers_unlock(const struct engine *engine);

/* Whether a reader has an older state than the leader. Called by the leader, as the next two. */
bool lmdb_readers_lag(struct engine *engine);

/* Waits until no other thread of this process reads, and blocks new reads until lmdb_readers_go(). */
void lmdb_readers_stop(struct engine *engine);
void lmdb_readers_go(struct engine *engine);

#endif
