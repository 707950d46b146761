/* The same as lmdb_flush.h on a thread of its own, while commits go on. */
#ifndef STORE_LMDB_FLUSHER_H
#define STORE_LMDB_FLUSHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer;
struct engine;

enum flusher_state {
	FLUSHER_IDLE,
	FLUSHER_BUSY,
	FLUSHER_DONE, /* the leader has not taken over yet */
	FLUSHER_END,  /* the thread must end */
};

/* The flusher. The fields from `layer` on belong to the thread while it is busy, and to the leader otherwise. */
struct lmdb_flusher {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic unsigned int state; /* enum flusher_state; lock to change it */
	bool started;               /* the leader's, as the next */
	bool unable;                /* no thread could be started */
	pthread_t thread;
	struct layer *layer;
	uint64_t mark; /* that LMDB gets along with it */
	int rc;        /* its result: an LMDB code */
};

/*
 * Before a batch: takes over a flush that has ended, and starts another if there is enough to flush. By the leader, as the next. 0,
 * or an LMDB code if the store is lost.
 */
int lmdb_flusher_turn(struct engine *engine);

/*
 * Waits until no flush runs, so that only the leader writes to LMDB. `*rest` gets `layer` without what was flushed: a
 * reference. 0, or an LMDB code.
 */
int lmdb_flusher_wait(struct engine *engine, struct layer *layer, struct layer **rest);

/* Ends the thread. Before the environment is closed. */
void lmdb_flusher_end(struct engine *engine);

/* A flush starts at so many writes. Only tests change it. */
extern size_t lmdb_flusher_writes;

#endif
