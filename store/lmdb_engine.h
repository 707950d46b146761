/*
 * The LMDB engine's inside, shared by its files and nobody else:
 *
 *	lmdb.c          opening, closing, the engine's table
 *	lmdb_new.c      the data file of a new store
 *	lmdb_dir.c      the directory: made, checked, owned by one process
 *	lmdb_guard.c    the files: locked, and whether they are still the same
 *	lmdb_table.c    LMDB's environment, with its table of readers in memory
 *	lmdb_check.c    the data file, before LMDB walks it
 *	lmdb_stamp.c    how a daemon left it
 *	lmdb_view.c     reads, and the pool of read transactions
 *	lmdb_readers.c  who reads an older state
 *	lmdb_batch.c    a batch of updates as one commit
 *	lmdb_keep.c     how a commit is kept: in the log, or as a transaction of LMDB
 *	lmdb_settle.c   how what the log has becomes LMDB's
 *	lmdb_behind.c   the same on a thread of its own, while commits go on
 *	lmdb_layer.c    what the log says, in memory
 *	lmdb_log.c      the log on disk
 *	lmdb_replay.c   reading it
 *	lmdb_copy.c     a copy while it is in use
 *	lmdb_room.c     the map's growth, blocks allocated ahead, when room is low
 *	lmdb_pages.c    how many pages a transaction can take
 *	lmdb_shape.c    what the tree is like that this depends on
 *	lmdb_mark.c     the number by which log and transaction know each other
 *	lmdb_error.c    what an LMDB code means
 *
 * Lock order: leadership (commit.h; its lock is never held across a transaction), map_lock, look_lock, room_lock, pin_lock,
 * pool_lock. Whoever reads the map holds map_lock shared, except the leader, who alone moves the map, and the thread that gives LMDB
 * what the log has: the leader moves nothing before that is done.
 */
#ifndef STORE_LMDB_ENGINE_H
#define STORE_LMDB_ENGINE_H

#include "arena.h"
#include "commit.h"

#include <bsd/sys/queue.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define LMDB_DATA_FILE "data.mdb"
#define LMDB_FOREIGN_FILE "lock.mdb" /* where other programs' LMDB has its table of readers */
#define LMDB_READERS 512
#define LMDB_STAMP_MAX 128
#define LMDB_LIMIT_MIN ((uint64_t)512 * 1024)                /* least max_bytes that leaves room beside the reserve */
#define LMDB_LIMIT_MAX ((uint64_t)1024 * 1024 * 1024 * 1024) /* without a max_bytes: address space, not memory */

#define LAYER_MAX 2048 /* writes, and pages of long values: all of them are gone through for each commit */

#define LAYER_RUNS 32

/*
 * Writes that are committed and not LMDB's yet, laid over its transaction `base`. Never changes.
 *
 * While LMDB is given a layer behind the leader's back, all that come after it contain it: `under`. The transaction that this
 * becomes is known by its mark beforehand, and such a layer may lie on that one as well: what they both have is the same.
 */
struct layer {
	_Atomic unsigned int refs;
	struct layer_bytes *bytes; /* shared by all layers that came one after the other */
	uint64_t base;
	struct layer *under; /* NULL: LMDB is given nothing */
	uint64_t next;       /* mark of the transaction that `under` becomes; 0: none */
	size_t fresh;        /* writes that are not in `under` */
	size_t fresh_overflow;
	size_t overflow; /* pages of values that do not fit a leaf */
	size_t runs;     /* of keys that begin with the same byte; SIZE_MAX: too many to be counted */
	struct layer_run {
		unsigned char first;
		uint32_t end; /* in `writes` */
	} run[LAYER_RUNS];
	struct writes writes;
	size_t room; /* in the list */
	struct txn_write *list[];
};

/* The log. The leader's; of a readonly engine, under pool_lock. */
struct lmdb_log {
	int fd;  /* -1: there is none */
	int dir; /* where it is */
	dev_t dev;
	ino_t ino;
	bool readonly;
	bool broken; /* not to be written to before LMDB has a new transaction */
	bool used;   /* may have entries of this process, or of this transaction */
	bool wide;   /* the file is as long as one that may have two runs */
	bool narrow; /* and cannot be made that long */
	uint64_t base;
	uint64_t mark;   /* of that transaction */
	uint64_t run;    /* of the entries that are written or read: another one while LMDB is given those before */
	uint64_t before; /* the mark that these continue in their turn; 0: they begin the log */
	uint64_t number; /* of the next entry */
	size_t held;     /* bytes of the run before, until LMDB has it */
	size_t start;    /* of the run */
	size_t end;      /* where the next entry goes */
	size_t last;     /* where the one before it is, if this process wrote it; its checksum is */
	uint32_t last_crc;
	size_t limit;         /* how far the run may reach */
	unsigned char *map;   /* of the file, to write without the kernel; NULL: not yet */
	bool unmapped;        /* or never */
	unsigned char *entry; /* being made */
	size_t len;           /* of that; SIZE_MAX: it does not fit */
};

/* One LMDB transaction as txn.c sees it, with the layer over it. A read transaction is reset after use and waits in the pool. */
struct lmdb_view {
	struct engine *engine;
	MDB_txn *txn;
	MDB_cursor *cursor;  /* opened by the first `next` */
	bool cursor_stale;   /* must be renewed before use in this run */
	struct slice at;     /* the key that the cursor stands on, while it is not stale; NULL: none */
	struct layer *layer; /* over it */
	bool joined;         /* a readonly engine's: lmdb_readers_join() */
	struct store_txn *handle;
	SLIST_ENTRY(lmdb_view) link;
};

/* A directory this process has open. Descriptors are -1 until there is one. */
struct lmdb_dir {
	int fd;      /* of the directory; locked unless readonly */
	int owner;   /* of owner.pid, locked; -1 if readonly */
	int data;    /* of the data file; locked unless readonly */
	int foreign; /* of lock.mdb, which keeps other programs' LMDB away; -1 if readonly */
	char *path;  /* absolute, as it was given; NULL: unknown */
	pid_t pid;
	dev_t dev;
	ino_t ino;
	dev_t data_dev;
	ino_t data_ino;
	char stamp[LMDB_STAMP_MAX]; /* as the last daemon wrote it; empty if it did not */
	LIST_ENTRY(lmdb_dir) link;
};

/* What LMDB's newest transaction is like, as far as it matters for the pages that the next one takes. */
struct lmdb_shape {
	uint64_t leaves;
	uint64_t branches;
	uint64_t overflow; /* pages of long values */
	uint64_t depth;
	uint64_t pages;      /* of the file */
	uint64_t list_pages; /* of the tree that lists free pages */
	uint64_t list_depth;
	uint64_t free;  /* pages that the next transaction can use again, once nobody reads an older state */
	uint64_t later; /* pages that only the one after that can */
};

struct lmdb_need {
	uint64_t pages;
	uint64_t run; /* of them, those that may have to lie side by side */
};

/* What a transaction puts. */
struct lmdb_put {
	uint64_t writes;
	uint64_t overflow; /* pages for long values */
};

/* In pages. */
struct room {
	struct lmdb_shape shape;
	uint64_t ahead;          /* of the last used one, within the limit */
	uint64_t beyond_reserve; /* there are for what adds; 0: room is low */
	uint64_t all;            /* there are, once nobody reads an older state */
	uint64_t promised;       /* bytes, and part of the reserve then */
	bool turn;               /* room is low only until the next transaction */
};

enum behind_state {
	BEHIND_IDLE,
	BEHIND_BUSY,
	BEHIND_DONE, /* and the leader does not know yet */
	BEHIND_END,  /* the thread is to go */
};

/* The thread that gives LMDB a layer. What it works on is its own while it is busy, and the leader's otherwise. */
struct lmdb_behind {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic unsigned int state; /* enum behind_state; lock to change it */
	bool started;               /* the leader's, as the next */
	bool unable;                /* there is no thread to be had */
	pthread_t thread;
	struct layer *layer;
	uint64_t mark; /* that LMDB gets along with it */
	int rc;        /* what became of it: an LMDB code */
};

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
	struct lmdb_log log;
	struct lmdb_behind behind;
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
	_Atomic int unsettled;     /* what became of the last try to give LMDB something: an LMDB code */

	uint64_t limit;     /* largest size of the data file, as asked for */
	uint64_t map_limit; /* as far as the map may grow: more than that if the file was larger already */
	pthread_mutex_t look_lock;
	uint64_t allocated;   /* look_lock: bytes of the data file that have blocks */
	uint64_t disk_free;   /* look_lock: when last asked */
	int64_t disk_full_at; /* look_lock: when blocks were last refused; 0 if they were not */
	pthread_mutex_t room_lock;
	_Atomic uint64_t room_used;
	_Atomic uint64_t room_free;
	_Atomic uint64_t room_size;
	_Atomic uint64_t promised; /* see store_promise() */
	_Atomic bool room_low;
	_Atomic bool room_scarce;
	_Atomic bool room_tight; /* a transaction may need blocks that are not allocated */
	struct room room;        /* room_lock */
};

/* An LMDB return code as a negative errno. */
int lmdb_errno(int rc);

/* Makes the directory unless readonly, checks it and locks it against other processes; fills `why`. */
int lmdb_dir_open(struct lmdb_dir *dir, const char *path, const struct store_options *options, char *why,
		  size_t whylen);
void lmdb_dir_close(struct lmdb_dir *dir);

/* Locks a descriptor of the directory or of a file in it. -EBUSY, with `why`, if another process has. */
int lmdb_lock(const struct lmdb_dir *dir, int fd, const char *what, const char *path, char *why, size_t whylen);

/* Opens the data file, which is there, and locks it; keeps other programs' LMDB away. Both fill `why`. */
int lmdb_guard_data(struct engine *engine, const char *path, char *why, size_t whylen);
int lmdb_guard_foreign(struct engine *engine, const char *path, char *why, size_t whylen);

/*
 * Whether directory and files are still those that were opened, and no other program wrote to them: looks if that was not done for a
 * while, or `always`. map_lock held shared, or by the leader. False: nothing works any more.
 */
bool lmdb_guard_holds(struct engine *engine, bool always);

/* They are not. */
void lmdb_guard_trip(struct engine *engine);

/* Checks the data file that is open: all of it, or only where LMDB begins. -EUCLEAN, with `why`, if it is damaged. */
int lmdb_check(const struct engine *engine, bool whole, const char *path, char *why, size_t whylen);

/* Reads what owner.pid says; whether the data file is like that; and writes it, when that will not be written to any more. */
void lmdb_stamp_read(struct lmdb_dir *dir, int owner);
bool lmdb_stamp_fits(const struct lmdb_dir *dir);
void lmdb_stamp_write(const struct lmdb_dir *dir);

/* Opens the environment, over the data file that is open. 0 or an LMDB code. */
int lmdb_table_open(struct engine *engine);

/* A new file, in place of one of that name, that is written in place where the file system lets it choose. Descriptor or -errno. */
int lmdb_file_make(int dir, const char *name);

/* Makes an empty data file in a directory that has none; `where` is its path. 0 or an LMDB code. */
int lmdb_data_make(const struct lmdb_dir *dir, const char *where, size_t map_size);

/* The engine's functions, by file. */
void lmdb_batch_run(struct engine *engine, struct job_list *batch);
int lmdb_view(struct engine *engine, store_fn *fn, void *arg);
extern const struct txn_source lmdb_source; /* of a struct lmdb_view */
int lmdb_copy(struct engine *engine, const char *to);
void lmdb_room(struct engine *engine, struct store_room *out);
void lmdb_promise(struct engine *engine, uint64_t bytes);

/*
 * A read transaction from the pool, and back. map_lock held shared, or by the leader. NULL and an LMDB code in `*error` if
 * there is none to be had.
 */
struct lmdb_view *lmdb_view_take(struct engine *engine, int *error);
void lmdb_view_give(struct engine *engine, struct lmdb_view *view);
void lmdb_view_drain(struct engine *engine);

/* An empty layer over LMDB's transaction `base`. NULL: no memory. One reference is the caller's. */
struct layer *layer_new(uint64_t base);
struct layer *layer_hold(struct layer *layer);
void layer_drop(struct layer *layer);

/* As writes_find(). */
size_t layer_find(const struct layer *layer, struct slice key, bool *same);

/*
 * Where the bytes of all layers over one transaction are: by the leader only, as the next. A write that is not there yet is
 * copied to it. NULL: no memory.
 */
struct arena *layer_arena(const struct layer *layer);
struct txn_write *layer_copy_write(const struct layer *layer, const struct txn_write *write);

/* A new layer, `below` with `writes` on it, whose bytes are there. NULL: no memory. */
struct layer *layer_add(const struct layer *below, const struct writes *writes);

/* A new layer with the same writes. By the leader only, as the next two. NULL: no memory. */
struct layer *layer_copy(const struct layer *layer);

/* A new layer with the same writes, `under` which is the one that LMDB is given with that mark. Its bytes are others. */
struct layer *layer_over(struct layer *under, uint64_t mark);

/* A new layer with the writes that are not in `under`, for the transaction that this has become. */
struct layer *layer_rest(const struct layer *layer);

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

/* What a commit asks for beside being kept. */
enum keep {
	KEEP_ANY,
	KEEP_DURABLE, /* on disk, whatever `sync` says */
	KEEP_SETTLED, /* LMDB's */
};

/*
 * Makes `layer` the committed one: by the log, or by LMDB if the log has no room or that is asked for. By the leader. 0, or an
 * LMDB code: then nothing has changed.
 */
int lmdb_keep(struct engine *engine, struct layer *layer, enum keep how);

/*
 * After lmdb_keep() found no pages: waits until nobody in this process reads, and gives LMDB what the log has. By the
 * leader. True if a commit may find pages now.
 */
bool lmdb_keep_room(struct engine *engine);

/*
 * Before a batch: takes over what LMDB was given meanwhile, and gives it more if there is enough. By the leader, as the next. 0,
 * or an LMDB code if the store is lost.
 */
int lmdb_behind_turn(struct engine *engine);

/*
 * Waits until LMDB is given nothing any more, so that only the leader writes to it. `*rest` gets `layer` without what LMDB has
 * got: a reference. 0, or an LMDB code.
 */
int lmdb_behind_wait(struct engine *engine, struct layer *layer, struct layer **rest);

/* Ends the thread. Before the environment is closed. */
void lmdb_behind_end(struct engine *engine);

/* How many writes LMDB is given at a time, at least. Only tests change it. */
extern size_t lmdb_behind_writes;

/* One transaction that makes LMDB have a layer, with that mark. On any thread, one at a time. 0 or an LMDB code. */
int lmdb_settle_apply(struct engine *engine, const struct layer *layer, uint64_t mark);

/* What became of a try to give LMDB something. By the leader. */
void lmdb_settle_note(struct engine *engine, int rc);

/* Makes LMDB have a layer, by one transaction. By the leader, as the next three. 0, or an LMDB code: then nothing has changed. */
int lmdb_settle_layer(struct engine *engine, const struct layer *layer);

/* Makes LMDB have all that is committed, in pieces if it must be. 0, or an LMDB code: then it may have a part of it. */
int lmdb_settle_all(struct engine *engine);

/* Makes this layer what is committed. */
void lmdb_publish(struct engine *engine, struct layer *layer);

/* Whether nothing works any more until the store is opened again. */
bool lmdb_is_dead(const struct engine *engine);

/* Whether an LMDB code may mean that there were no pages. */
bool lmdb_is_short(const struct engine *engine, int rc);

/*
 * What tells a transaction from every other, in this store and elsewhere: a random number that it brings along. 0 in a store
 * that is new.
 */
uint64_t lmdb_mark(const struct engine *engine, MDB_txn *txn);
uint64_t lmdb_mark_new(void);
int lmdb_mark_write(const struct engine *engine, MDB_txn *txn, uint64_t mark); /* 0 or an LMDB code */

/* Opens the log, making it if need be; a log that cannot be made is none. Negative errno if there is one that is not right. */
int lmdb_log_open(struct lmdb_log *log, int dir, bool readonly);
void lmdb_log_close(struct lmdb_log *log);
bool lmdb_log_exists(int dir);                      /* under its name, whatever it is */
bool lmdb_log_is_there(const struct lmdb_log *log); /* the one that was opened, under its name */
bool lmdb_log_is_deleted(const struct lmdb_log *log);
bool lmdb_log_is_stuck(const struct lmdb_log *log); /* its file system takes nothing any more */
int lmdb_log_sync(const struct lmdb_log *log);

/* Begins at the start again, for entries that continue another transaction of LMDB. */
void lmdb_log_restart(struct lmdb_log *log, uint64_t base, uint64_t mark);

/*
 * A second run, for when LMDB is given what the log has until now with that mark: the entries that follow continue it, and say
 * what it continues itself. Only if lmdb_log_can_turn(). And: LMDB has got it, as transaction `base`.
 */
bool lmdb_log_can_turn(struct lmdb_log *log);
void lmdb_log_turn(struct lmdb_log *log, uint64_t mark);
void lmdb_log_settled(struct lmdb_log *log, uint64_t base);

/* Bytes of entries that LMDB does not have, with the one that is being made; and whether LMDB should be given them soon. */
size_t lmdb_log_bytes(const struct lmdb_log *log);
bool lmdb_log_fills(const struct lmdb_log *log);

/* Whether entries that do not wait for the disk are written through a map. Only tests change it. */
extern bool lmdb_log_maps;

/* Writes down that there are no entries, whatever becomes of LMDB's file. */
void lmdb_log_void(struct lmdb_log *log);

/* One entry: begun, made of write sets in their order, written. Only if it fits. `ordered`: those before it are on disk. */
void lmdb_log_begin(struct lmdb_log *log);
void lmdb_log_add(struct lmdb_log *log, const struct writes *writes);
bool lmdb_log_fits(const struct lmdb_log *log);
/* -ESTALE: another program wrote to it. */
int lmdb_log_write(struct lmdb_log *log, bool ordered, bool sync);

/* Brings `*layer` up to what the log says about transaction `base`, going on from what was read before. -EUCLEAN: damaged. */
int lmdb_log_read(struct lmdb_log *log, uint64_t base, uint64_t mark, struct layer **layer);

/* Doubles the map within the limit. By the leader, with no transaction open but its `reader`. -ENOSPC if that cannot be. */
int lmdb_map_grow(struct engine *engine);

/* Size of the map to open a data file of this size with. */
size_t lmdb_map_start(uint64_t max_bytes, uint64_t file_size);

/* Sets the limits and looks for the first time how much room there is. Once the environment is open. */
void lmdb_room_init(struct engine *engine, uint64_t max_bytes);

/* Whether LMDB is sure to have the pages for a layer beside the reserve, once nobody reads an older state. */
bool lmdb_room_fits(struct engine *engine, const struct layer *layer);

/*
 * Whether it has them for a layer that it is given while commits go on, and for as many again: at once, and without moving the
 * map. By the leader.
 */
bool lmdb_room_is_ample(struct engine *engine, const struct layer *layer);

/* Whether it has them, in pieces, for a log of so many bytes: with the reserve. */
bool lmdb_room_squeezes(struct engine *engine, size_t log_bytes);

/* Whether room is low only because the newest transaction gave pages up, which the next but one can use. */
bool lmdb_room_turns(struct engine *engine);

/* Room is low until it is looked at again: LMDB found no pages, whoever keeps them. */
void lmdb_room_short(struct engine *engine);

/* Before a transaction of LMDB's: keeps what other processes read. 0 or an LMDB code. And: before the environment is closed. */
int lmdb_readers_pin(struct engine *engine);
void lmdb_readers_unpin(struct engine *engine);

/*
 * In a process that reads along: tells the writer that transaction `base` is read, and that it is not any more. EAGAIN: it
 * is not the newest any more, and the writer was told nothing.
 */
int lmdb_readers_join(struct engine *engine, uint64_t base);
void lmdb_readers_leave(struct engine *engine);

/* The same without a look whether it is the newest. 0 or an errno. */
int lmdb_readers_lock(const struct engine *engine, uint64_t base);
void lmdb_readers_unlock(const struct engine *engine);

/* Whether somebody reads an older state than the leader. By the leader, as the next two. */
bool lmdb_readers_lag(struct engine *engine);

/* Waits until nobody else in this process reads, and keeps them from it until they may again. */
void lmdb_readers_stop(struct engine *engine);
void lmdb_readers_go(struct engine *engine);

/* The pages that a value has for itself: 0 if it fits a leaf. */
size_t lmdb_pages_of_value(size_t page, size_t key_len, size_t value_len);

/* What a transaction of so many writes takes at most, `overflow` of it for long values. */
struct lmdb_need lmdb_pages_needed(const struct lmdb_shape *shape, size_t page, uint64_t writes, uint64_t overflow);

/* The same for two transactions, one after the other. */
struct lmdb_need lmdb_pages_needed_twice(const struct lmdb_shape *shape, size_t page, const struct lmdb_put *first,
					 const struct lmdb_put *second);

/* Fills in what is known at once; and counts the free pages, as far as `enough`. map_lock held shared, or by the leader. */
void lmdb_shape_look(struct engine *engine, struct lmdb_shape *out);
void lmdb_shape_count(struct engine *engine, struct lmdb_shape *shape, uint64_t enough);

/* Looks how much room is left after a commit. map_lock held shared, or by the leader. */
void lmdb_room_update(struct engine *engine);

#endif
