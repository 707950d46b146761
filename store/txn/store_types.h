/*
 * Types that store.h and its engines share: how a store is opened, its clock, its space, its counters, and an update that is
 * submitted.
 */
#ifndef STORE_STORE_TYPES_H
#define STORE_STORE_TYPES_H

#include "txn.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct store_engine;

enum store_sync {
	STORE_SYNC_COMMIT, /* a transaction that returned is on disk */
	STORE_SYNC_OFF,    /* a crash of the machine may lose the newest transactions, never others */
};

/* Nanoseconds. `steady` never steps while the store is open; `wall` is the time of day. */
struct store_time {
	int64_t steady;
	int64_t wall;
};

/* Replaces the system's clocks in tests. */
struct store_clock {
	void (*read)(void *arg, struct store_time *out);
	void *arg;
};

/* A write of the realm's on its way into this host's mirror; see struct store_share. */
struct store_arrival {
	struct slice key;
	struct slice old; /* as the mirror has it; `data` is NULL if it has not */
	struct slice new; /* as it was sent; `data` is NULL if the key is removed */
	bool own;         /* this process wrote it */
	int64_t before;   /* steady time: it was not committed yet; STORE_UNKNOWN: not known */
	int64_t seen;     /* steady time: it was committed */

	/* Reads and writes keys that are local; no data removes. 0, 1 (not there) or a negative errno. */
	int (*get)(struct store_arrival *arrival, struct slice key, struct slice *value);
	int (*put)(struct store_arrival *arrival, struct slice key, struct slice value);
	unsigned char *buf; /* STORE_SHARE_BUF bytes for the value that is kept */
};

#define STORE_UNKNOWN INT64_MIN
#define STORE_SHARE_BUF ((size_t)8192)

/*
 * What an engine must know of the keys if several hosts write to it. Each host has a mirror of what all share (the realm), in a form
 * of its own: instants are those of its own clock, and what follows from other keys is kept in local keys, which are neither sent nor
 * compared. Functions of the table may run again, on any thread, and use no transaction but the arrival's.
 */
struct store_share {
	bool (*is_local)(struct slice key);

	/* The value to keep in the mirror: `new`, or another in `buf`. Writes the local keys that follow from it. 0 or a negative errno. */
	int (*arrive)(void *arg, struct store_arrival *arrival, struct slice *value);

	/* The value to send: `*value` as it is, or another in `buf`, which has STORE_SHARE_BUF bytes. */
	int (*leave)(void *arg, struct slice key, struct slice *value, unsigned char *buf);

	/* After another host's write is in the mirror. An empty key: anything may have changed. */
	void (*changed)(void *arg, struct slice key);

	/*
	 * This host has been out of reach for most of its host_timeout: what is bound to it is over, before others may take it. Called
	 * then, and again while that lasts, on any thread; may only look, by store_peek(). May be NULL.
	 */
	void (*cut)(void *arg);

	/* The circuit breaker around the engine has opened or closed. Any thread; may only take note. May be NULL. */
	void (*breaker)(void *arg, bool closed);
	void *arg;

	const char *host;          /* this host's name, for people */
	uint32_t host_timeout;     /* ms without a sign of life after which what is bound to this host is void */
	uint32_t timeout;          /* ms that a call waits for the engine */
	uint32_t breaker_failures; /* calls in a row without an answer that open it */
	uint32_t breaker_pause;    /* ms until one may try again; doubles with each that fails */
	bool manual;               /* start no threads: a test calls the engine */
};

/* A host in the realm: its number for ever, and one life of it. */
struct store_host {
	uint16_t chain;
	uint64_t incarnation;
};

struct store_options {
	enum store_sync sync;
	bool check;         /* check all of it before anything is read */
	bool readonly;      /* views only; needs an existing store; other processes may have it open */
	uint64_t max_bytes; /* the store's largest size; 0: as the disk allows */
	uid_t owner;        /* a user who is trusted with the store beside root and the user of this process */
	const struct store_share *share;   /* needed by an engine that is shared; used until the store is closed */
	const struct store_clock *clock;   /* NULL: the engine's own */
	const struct store_engine *engine; /* NULL: by the URI's scheme. Tests bring their own (engine.h) */
	void *engine_arg;                  /* handed to such an engine's open */
};

/* How much more fits. All figures in bytes. */
struct store_space {
	uint64_t used; /* size of what is stored, with what the engine keeps for reuse */
	uint64_t free; /* what can still be written before `low` is reached; an estimate */
	uint64_t size; /* what it can grow to, as the limit and the disk are now */
	bool low;      /* only a reserve for removals is left: refuse what adds more than it removes */
	bool scarce;   /* half of that reserve is used, too: refuse what is not essential; see store_promise() */
};

#define STORE_BATCHES 8

struct store_stats {
	uint64_t updates; /* update functions that returned >= 0 */
	uint64_t commits; /* transactions of the engine: updates / commits is the mean batch */
	uint64_t batches
		[STORE_BATCHES]; /* commits of at most 1, 2, 4, 8, ... updates, and of more; each in one of them */
	uint64_t commit_time;    /* ns that all of them took, with the functions they ran */
	uint64_t waiting;        /* updates that wait for the next commit */
	int flush_error;         /* negative errno of the last flush, if it failed */
	unsigned int breaker; /* enum breaker_state, of an engine that hosts share; 0 for others, as the next three */
	uint64_t breaker_opened; /* how often */
	int64_t breaker_since;   /* ns since it opened */
	int64_t breaker_retry;   /* ns until a call may try again */
	bool dead;               /* nothing works any more until the store is opened again */
	bool changed;            /* because another program wrote to it, moved or removed it */
};

/* An update to be submitted. The caller fills in the first three and keeps it where it is until `done` is called. */
struct store_job {
	store_fn *fn;
	void *arg;
	void (*done)(struct store_job *job, int result);
	/* For the engine: */
	int result;
	_Atomic unsigned int state;
	STAILQ_ENTRY(store_job) link;
};

#endif
