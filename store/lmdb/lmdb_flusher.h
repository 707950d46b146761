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
	FLUSHER_DONE, /* and the leader does not know yet */
	FLUSHER_END,  /* the thread is to go */
};

/* The thread that gives LMDB a layer. What it works on is its own while it is busy, and the leader's otherwise. */
struct lmdb_flusher {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic unsigned int state; /* enum flusher_state; lock to change it */
	bool started;               /* the leader's, as the next */
	bool unable;                /* there is no thread to be had */
	pthread_t thread;
	struct layer *layer;
	uint64_t mark; /* that LMDB gets along with it */
	int rc;        /* what became of it: an LMDB code */
};

/*
 * Before a batch: takes over what LMDB was given meanwhile, and gives it more if there is enough. By the leader, as the next. 0,
 * or an LMDB code if the store is lost.
 */
int lmdb_flusher_turn(struct engine *engine);

/*
 * Waits until LMDB is given nothing any more, so that only the leader writes to it. `*rest` gets `layer` without what LMDB has
 * got: a reference. 0, or an LMDB code.
 */
int lmdb_flusher_wait(struct engine *engine, struct layer *layer, struct layer **rest);

/* Ends the thread. Before the environment is closed. */
void lmdb_flusher_end(struct engine *engine);

/* How many writes LMDB is given at a time, at least. Only tests change it. */
extern size_t lmdb_flusher_writes;

#endif
