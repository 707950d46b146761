/*
 * The LMDB engine's inside, shared by its files and nobody else:
 *
 *	lmdb.c          opening, closing, the engine's table
 *	lmdb_dir.c      the directory: made, checked, owned by one process
 *	lmdb_view.c     reads, and the pool of read transactions
 *	lmdb_batch.c    group commit: who leads, who follows
 *	lmdb_keep.c     how a commit is kept: in the log, or as a transaction of LMDB
 *	lmdb_layer.c    what the log says, in memory
 *	lmdb_log.c      the log on disk
 *	lmdb_copy.c     a copy while it is in use
 *	lmdb_room.c     the map's growth, blocks allocated ahead, when room is low
 *
 * Lock order: leadership (queue_lock holds only its queue, never across a transaction), map_lock, room_lock, pool_lock.
 * Whoever reads the map holds map_lock shared, except the leader: only a leader moves the map.
 */
#ifndef STORE_LMDB_ENGINE_H
#define STORE_LMDB_ENGINE_H

#include "arena.h"
#include "engine.h"

#include <bsd/sys/queue.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define LMDB_READERS 512
#define LMDB_LIMIT_MIN ((uint64_t)512 * 1024)                /* least max_bytes that leaves room beside the reserve */
#define LMDB_LIMIT_MAX ((uint64_t)1024 * 1024 * 1024 * 1024) /* without a max_bytes: address space, not memory */

struct request;
STAILQ_HEAD(request_list, request);

#define LAYER_RUNS 32

/* Writes that are committed and not LMDB's yet, laid over its transaction `base`. Never changes. */
struct layer {
	_Atomic unsigned int refs;
	struct layer_bytes *bytes; /* shared by all layers over one transaction */
	uint64_t base;
	size_t cost; /* pages that LMDB may need for it, nearly */
	size_t runs; /* of keys that begin with the same byte; SIZE_MAX: too many to be counted */
	struct layer_run {
		unsigned char first;
		uint32_t end; /* in `writes` */
	} run[LAYER_RUNS];
	struct writes writes;
	struct txn_write *list[];
};

/* The log. The leader's; of a readonly engine, under pool_lock. */
struct lmdb_log {
	int fd;  /* -1: there is none */
	int dir; /* where it is */
	bool readonly;
	bool broken; /* not to be written to before LMDB has a new transaction */
	bool used;   /* may have entries of this run, or of this transaction */
	uint64_t base;
	uint64_t mark;        /* of that transaction */
	uint64_t number;      /* of the next entry */
	size_t end;           /* where the next entry goes */
	unsigned char *entry; /* being made */
	size_t len;           /* of that; SIZE_MAX: it does not fit */
};

/* One LMDB transaction as txn.c sees it, with the layer over it. A read transaction is reset after use and waits in the pool. */
struct lmdb_view {
	struct engine *engine;
	MDB_txn *txn;
	MDB_cursor *cursor;  /* opened by the first `next` */
	bool cursor_stale;   /* must be renewed before use in this run */
	struct layer *layer; /* over it */
	struct store_txn *handle;
	SLIST_ENTRY(lmdb_view) link;
};

/* A directory this process has open. */
struct lmdb_dir {
	int fd;    /* of the directory */
	int owner; /* of owner.pid, locked; -1 if readonly */
	dev_t dev;
	ino_t ino;
	LIST_ENTRY(lmdb_dir) link;
};

struct engine {
	MDB_env *env;
	MDB_dbi dbi;
	struct lmdb_dir dir;
	bool readonly;
	bool sync_off;
	size_t page;

	pthread_mutex_t queue_lock;
	struct request_list pending;  /* queue_lock: not yet taken by a leader */
	bool leading;                 /* queue_lock: somebody leads */
	_Atomic unsigned int waiting; /* queue_lock to change it: how many are pending */
	struct store_txn *writer;     /* the leader's, like the next six */
	struct lmdb_view *reader;     /* what the leader's functions read: always on the newest transaction */
	struct lmdb_log log;
	int64_t begun;           /* when the batch at hand was */
	int64_t files_seen;      /* when they were last known to be there */
	unsigned int last_batch; /* requests in it */
	int64_t last_time;       /* ns it took */
	_Atomic uint64_t updates;
	_Atomic uint64_t commits;
	_Atomic uint64_t batches[STORE_BATCHES];
	_Atomic uint64_t commit_time;

	pthread_rwlock_t map_lock;
	size_t map_size; /* map_lock, or leader; 0: the map was lost in growing, and nothing works any more */

	pthread_mutex_t pool_lock;
	SLIST_HEAD(, lmdb_view) pool; /* pool_lock: reset read transactions */
	struct layer *layer;          /* pool_lock, or leader; what is committed, over LMDB's newest transaction */
	_Atomic bool lost;            /* that transaction cannot be read any more: nothing works */

	uint64_t limit;     /* largest size of the data file, as asked for */
	uint64_t map_limit; /* as far as the map may grow: more than that if the file was larger already */
	pthread_mutex_t room_lock;
	uint64_t allocated;   /* room_lock: bytes of the data file that have blocks */
	uint64_t disk_free;   /* room_lock: when last asked */
	int64_t disk_full_at; /* room_lock: when blocks were last refused; 0 if they were not */
	_Atomic uint64_t room_used;
	_Atomic uint64_t room_free;
	_Atomic bool room_low;
	_Atomic size_t layer_max; /* what a layer may cost so that LMDB is sure to have the pages for it */
};

/* An LMDB return code as a negative errno. */
int lmdb_errno(int rc);

/* Makes the directory if `create`, checks it and locks it against other processes; fills `why`. */
int lmdb_dir_open(struct lmdb_dir *dir, const char *path, bool readonly, char *why, size_t whylen);
void lmdb_dir_close(struct lmdb_dir *dir);

/* The engine's functions, by file. */
int lmdb_update(struct engine *engine, struct store *store, store_fn *fn, void *arg);
int lmdb_view(struct engine *engine, store_fn *fn, void *arg);
int lmdb_get(void *view, struct slice key, struct slice *value);
int lmdb_next(void *view, struct slice from, struct slice *key, struct slice *value);
int lmdb_copy(struct engine *engine, const char *to);
void lmdb_room(struct engine *engine, struct store_room *out);

/*
 * A read transaction from the pool, and back. map_lock held shared, or by the leader. NULL and an LMDB code in `*error` if
 * there is none to be had.
 */
struct lmdb_view *lmdb_view_take(struct engine *engine, int *error);
void lmdb_view_give(struct engine *engine, struct lmdb_view *view);
void lmdb_view_drain(struct engine *engine);

/* Writes to LMDB what the log has, so that its file alone is the store. As an update without a function. */
int lmdb_settle(struct engine *engine, struct store *store);

/* An empty layer over LMDB's transaction `base`. NULL: no memory. One reference is the caller's. */
struct layer *layer_new(uint64_t base);
struct layer *layer_hold(struct layer *layer);
void layer_drop(struct layer *layer);

/* As writes_find(). */
size_t layer_find(const struct layer *layer, struct slice key, bool *same);

/* A new layer, `below` with `writes` on it. By the leader only. NULL: no memory. */
struct layer *layer_add(const struct layer *below, const struct writes *writes);

/*
 * Where the bytes of layers end now, and back to that: by the leader, when the layers made since are nobody's. Otherwise a
 * disk that fails for long would fill the memory with what could not be committed.
 */
struct arena_mark layer_mark(const struct layer *layer);
void layer_return(const struct layer *layer, struct arena_mark mark);

/* Reads the log, once the environment is open; and begins to add to it, once it is known how much room there is. */
int lmdb_keep_init(struct engine *engine);
int lmdb_keep_start(struct engine *engine);

/* Leaves nothing in the log. Before the environment is closed. */
void lmdb_keep_end(struct engine *engine);

/*
 * Makes `layer` the committed one: by the log, or by LMDB if the log has no room, or `settle`. By the leader. 0, or an LMDB
 * code: then nothing has changed.
 */
int lmdb_keep(struct engine *engine, struct layer *layer, bool settle);

/*
 * What tells a transaction from every other, in this store and elsewhere: a random number that it brings along. 0 in a store
 * that is new.
 */
uint64_t lmdb_mark(const struct engine *engine, MDB_txn *txn);

/* Opens the log, making it if need be; a log that cannot be made is none. Negative errno if there is one that is not right. */
int lmdb_log_open(struct lmdb_log *log, int dir, bool readonly);
void lmdb_log_close(struct lmdb_log *log);
bool lmdb_log_is_deleted(const struct lmdb_log *log);
int lmdb_log_sync(const struct lmdb_log *log);

/* Begins at the start again, for entries that continue another transaction of LMDB. */
void lmdb_log_restart(struct lmdb_log *log, uint64_t base, uint64_t mark);

/* Writes down that there are no entries, whatever becomes of LMDB's file. */
void lmdb_log_void(struct lmdb_log *log);

/* One entry: begun, made of write sets in their order, written. Only if it fits. */
void lmdb_log_begin(struct lmdb_log *log);
void lmdb_log_add(struct lmdb_log *log, const struct writes *writes);
bool lmdb_log_fits(const struct lmdb_log *log);
int lmdb_log_write(struct lmdb_log *log, bool sync);

/* Brings `*layer` up to what the log says about transaction `base`, going on from what was read before. -EUCLEAN: damaged. */
int lmdb_log_read(struct lmdb_log *log, uint64_t base, uint64_t mark, struct layer **layer);

/* Doubles the map within the limit. By the leader, with no transaction open but its `reader`. -ENOSPC if that cannot be. */
int lmdb_map_grow(struct engine *engine);

/* Size of the map to open a data file of this size with. */
size_t lmdb_map_start(uint64_t max_bytes, uint64_t file_size);

/* Sets the limits and looks for the first time how much room there is. Once the environment is open. */
void lmdb_room_init(struct engine *engine, uint64_t max_bytes);

/* Whether somebody removed the data file or the log: what is written to it is lost, and a second daemon may have made a new one. */
bool lmdb_is_deleted(const struct engine *engine);

/* Looks how much room is left after a commit. map_lock held shared, or by the leader. */
void lmdb_room_update(struct engine *engine);

#endif
