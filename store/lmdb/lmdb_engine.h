/*
 * The LMDB engine's inside, shared by its files only:
 *
 *	lmdb_store.c    opening, closing, the engine's table
 *	lmdb_new.c      the data file of a new store
 *	lmdb_dir.c      the directory: made, checked, owned by one process
 *	lmdb_guard.c    the files: locked, and whether they are still the same
 *	lmdb_table.c    LMDB's environment, with its table of readers in memory
 *	lmdb_check.c    the data file, before LMDB walks it
 *	lmdb_stamp.c    how a daemon left it
 *	lmdb_view.c     reads, and the pool of read transactions
 *	lmdb_readers.c  who reads an older state
 *	lmdb_batch.c    a batch of updates as one commit
 *	lmdb_commit.c   how a layer is committed: in the log, or as a transaction of LMDB
 *	lmdb_flush.c    the flush: what the log has becomes a transaction of LMDB
 *	lmdb_flusher.c  the same on a thread of its own, while commits go on
 *	lmdb_copy.c     a copy while it is in use
 *	lmdb_space.c    the map's growth, blocks allocated ahead, when space is low
 *	lmdb_mark.c     the number by which log and transaction know each other
 *	lmdb_error.c    what an LMDB code means
 *
 * Below it, in store/log: the log, the layer that says the same in memory, and the pages that they can take.
 *
 * Lock order: leadership (commit.h; its lock is never held across a transaction), map_lock, look_lock, space_lock, pin_lock,
 * pool_lock. A thread that reads the map holds map_lock shared, except the leader, which alone moves the map, and the flusher: the leader
 * moves nothing before the flusher is done.
 */
#ifndef STORE_LMDB_ENGINE_H
#define STORE_LMDB_ENGINE_H

#include "commit.h"
#include "commit_log.h"
#include "lmdb_dir.h"
#include "lmdb_flusher.h"
#include "lmdb_space.h"
#include "lmdb_view.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

struct engine {
	MDB_env *env;
	MDB_dbi dbi;
	struct lmdb_dir dir;
	bool readonly;
	bool sync_off;
	size_t page;

	struct commit_queue queue;
	struct store_txn *writer; /* the leader's, as the next three */
	struct lmdb_view *reader; /* what the leader's functions read: always on the newest transaction */
	struct commit_log log;
	struct lmdb_flusher flusher;
	pthread_rwlock_t map_lock;
	size_t map_size; /* map_lock, or leader; 0: the map was lost in growing, and nothing works any more */

	pthread_mutex_t pool_lock;
	SLIST_HEAD(, lmdb_view) pool; /* pool_lock: reset read transactions */
	struct layer *layer;          /* pool_lock, or leader; what is committed, over LMDB's newest transaction */
	bool map_held;                /* the leader's: it has map_lock */
	unsigned int outside;         /* pool_lock: views of a readonly engine */
	pthread_mutex_t pin_lock;
	MDB_txn *pin;              /* pin_lock: keeps what other processes read; never read from */
	_Atomic unsigned int turn; /* odd while the leader makes a transaction of LMDB's; another one after each */
	_Atomic int64_t looked;    /* when the files were last known to be there */
	_Atomic bool changed;      /* they are not, or another program wrote to them: nothing works */
	_Atomic bool lost;         /* that transaction cannot be read any more: nothing works */
	_Atomic bool dead;         /* LMDB had an error after which it does nothing any more */
	_Atomic int flush_error;   /* result of the last flush: an LMDB code */

	uint64_t limit;     /* largest size of the data file, as asked for */
	uint64_t map_limit; /* as far as the map may grow: more than that if the file was larger already */
	pthread_mutex_t look_lock;
	uint64_t allocated;   /* look_lock: bytes of the data file that have blocks */
	uint64_t disk_free;   /* look_lock: when last asked */
	int64_t disk_full_at; /* look_lock: when blocks were last refused; 0 if they were not */
	pthread_mutex_t space_lock;
	_Atomic uint64_t space_used;
	_Atomic uint64_t space_free;
	_Atomic uint64_t space_size;
	_Atomic uint64_t promised; /* see store_promise() */
	_Atomic bool space_low;
	_Atomic bool space_scarce;
	_Atomic bool space_tight; /* a transaction may need blocks that are not allocated */
	struct space space;       /* space_lock */
};

#endif
