/*
 * A host's side of a shared engine, shared by the files of this room and by the transports' tables of functions:
 *
 *	remote_store.c    opening, closing, reads
 *	remote_batch.c    a batch of updates as one commit of parts
 *	remote_commit.c   sending a commit, and finding out what became of it
 *	remote_barrier.c  how far the engine is: one question for all that wait
 *	remote_gate.c     the circuit breaker around it
 *	remote_feed.c     following the history
 *	remote_asked.c    what is known of the time of a change
 *	remote_hello.c    joining the realm: at start, and when the engine or its history is another
 *	remote_register.c the host's chain and incarnation
 *	remote_hosts.c    heartbeat; hosts that are gone
 *	remote_watchdog.c this host, when it is cut off
 *	remote_number.c   numbers that rise for each lock
 *	remote_mirror.c   the mirror; remote_ring.c its newest entries
 *	remote_box.c, remote_entry.c   bytes
 *
 * Whatever writes to the realm or joins it is done by the thread that leads (commit.h): so one commit of a host is under way at a time.
 * Lock order: leadership, barrier_lock, read_lock, cut_lock, the mirror's.
 */
#ifndef STORE_REMOTE_ENGINE_H
#define STORE_REMOTE_ENGINE_H

#include "arena.h"
#include "breaker.h"
#include "commit.h"
#include "remote_adapter.h"
#include "remote_asked.h"
#include "remote_box.h"
#include "remote_mirror.h"
#include "txn_run.h"

#include <pthread.h>
#include <stdatomic.h>

struct remote_options {
	const char *cache;     /* directory of the mirror; used by remote_open() only, as the next */
	const char *host;      /* name of this host, for people */
	uint32_t host_timeout; /* ms: see struct box */
	uint32_t timeout;      /* ms that a call tries before it fails with -EHOSTDOWN, or -EAGAIN after conflicts */
	uint32_t breaker_failures; /* see remote_gate.h; 0: 1 */
	uint32_t breaker_pause;    /* ms; 0: a second */
	bool threads;              /* false: a test calls remote_follow() and remote_tick() */

	/* As in struct store_share; may be NULL. A box only tells of a new incarnation. */
	void (*changed)(void *arg, struct slice key);
	void (*cut)(void *arg);
	void (*breaker)(void *arg, bool closed);
	void *changed_arg; /* of all three */
};

/* See remote_gate.h. */
struct gate {
	pthread_mutex_t lock; /* of the rest; a leaf */
	struct breaker_limits limits;
	struct breaker breaker;
	int64_t since; /* when it opened */
};

/* A commit whose answer was lost. */
struct remote_doubt {
	bool open;
	uint64_t epoch;  /* it can be applied in this one only */
	uint64_t commit; /* its number */
};

struct engine {
	struct remote_adapter *adapter;
	struct remote_options options;
	struct store_clock clock;
	const struct store_share *share; /* NULL: every key is the realm's */
	struct asked asked;
	struct mirror *mirror;
	struct commit_queue queue;

	/* The leader's. */
	unsigned char id[REMOTE_ID]; /* of the realm that was joined first */
	struct store_txn *writer;
	struct arena arena; /* what the functions of a batch wrote */
	struct box box;
	uint64_t box_version;
	_Atomic int64_t box_sent; /* when the last request that wrote the box was sent; others read it */
	struct remote_doubt doubt;
	uint64_t gather_process; /* see remote_hello.c */
	int64_t gather_since;
	int64_t deadline; /* of the present batch: nothing is tried again after it */
	struct remote_welcome welcome;
	uint64_t random;
	_Atomic uint64_t incarnation; /* others read this and the next */
	_Atomic uint16_t chain;
	bool ready;           /* joined: the box is ours, the mirror continues the realm's history */
	bool joined;          /* has been so once */
	_Atomic bool strange; /* a barrier or the feed found another history: the leader must say hello */

	struct gate gate;

	/* See remote_watchdog.h. */
	_Atomic bool alive; /* a life has begun */
	_Atomic bool cut;   /* it is over: the leader must begin another */
	pthread_mutex_t cut_lock;

	pthread_mutex_t barrier_lock;
	pthread_cond_t barrier_done;
	uint64_t barriers_begun; /* barrier_lock, as the next four */
	uint64_t barriers_ended; /* all up to this one */
	uint64_t barrier_good;   /* the last one that was answered */
	int barrier_error;       /* of the last one */
	bool barrier_busy;
	pthread_mutex_t read_lock; /* of REMOTE_LINE_READ */

	/* The thread of remote_tick()'s, or the leader's inside it. */
	struct remote_seen {
		uint64_t version;
		uint64_t incarnation;
		int64_t contact; /* reading of engine->contact when the box changed last */
	} seen[REMOTE_CHAINS];
	int64_t contact; /* ns in contact with the engine */
	int64_t ticked;
	_Atomic int64_t answered; /* when a request that was answered was sent */
	_Atomic int64_t fresh;    /* when a barrier was sent that the mirror has passed */

	_Atomic uint64_t conflicts; /* parts that ran again */
	pthread_mutex_t stop_lock;
	pthread_cond_t stop_told;
	bool stop; /* stop_lock */
	pthread_t ticker;
	pthread_t follower;
	pthread_t watchdog;
	bool ticks;
	bool follows;
	bool watches;
};

/*
 * Joins the realm behind `adapter`, which is the engine's from then on, also if this fails. Waits until the mirror is filled. On failure
 * writes one line for people into `why`.
 */
int remote_open(struct engine **out, struct remote_adapter *adapter, const struct remote_options *remote,
		const struct store_options *options, char *why, size_t whylen);
void remote_close(struct engine *engine);

/* For a transport's struct store_engine. A view is behind a barrier: it sees what was committed anywhere before the call. */
int remote_update(struct engine *engine, store_fn *fn, void *arg);
void remote_submit(struct engine *engine, struct store_job *job);
int remote_view(struct engine *engine, store_fn *fn, void *arg);

/* The same, but of a state that may be a second old: mostly no request is made. */
int remote_list(struct engine *engine, store_fn *fn, void *arg);

/* The mirror as it is; no request is made. */
int remote_peek(struct engine *engine, store_fn *fn, void *arg);
void remote_now(struct engine *engine, struct store_time *out);
void remote_space(struct engine *engine, struct store_space *out);
void remote_stats(struct engine *engine, struct store_stats *out);

/* This host in the realm. */
uint16_t remote_chain(const struct engine *engine);
uint64_t remote_incarnation(const struct engine *engine);

int remote_number(struct store_txn *txn, struct slice name, uint64_t *out);
void remote_host(struct engine *engine, struct store_host *out);
int remote_host_life(struct store_txn *txn, uint16_t chain, uint64_t *out);
size_t remote_limit(const struct engine *engine);
int remote_publish(struct engine *engine, const char *event, struct slice text);

/* ns of the clock that this host's waits run on. */
int64_t remote_clock(const struct engine *engine);

/* splitmix64, seeded by the kernel. The leader's. */
uint64_t remote_random(struct engine *engine);

#endif
