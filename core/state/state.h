/*
 * The parts of struct atlock, and what every operation needs of it. The file that knows a part makes and frees it; the
 * parts are opaque here, and manager.c assembles them. Private to core/.
 */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "atlock.h"
#include "clock.h"
#include "guards.h"
#include "metrics.h"
#include "store.h"

struct alarms;
struct cut_off;
struct dir_paths;
struct feed;
struct hook;
struct op;
struct ends;
struct health;
struct merges;
struct waits;
struct policy;
struct positions;
struct publisher;
struct refusals;
struct rates;
struct event_usages;
struct kept;
struct tallies;
struct seal;
struct comms;
struct sessions;
struct test_clock;
struct users;
struct watch;

/* Called at the end of an operation: delivers its effects if it is committed; `rc` is the result for the caller. */
typedef void op_after_fn(struct op *op, bool committed, int rc);

/* Limits the rate of a log message that could occur a thousand times a second; see log_limited(). */
struct log_limit {
	_Atomic int64_t last; /* see steady_now() */
	_Atomic uint64_t left_out;
};

/*
 * The options in force, an immutable snapshot: readers take no lock, a change replaces it (config.h), and old ones stay
 * until the manager closes.
 */
struct config {
	struct atlock_options options;
	struct policy *policy; /* NULL: none; shared by snapshots until it is read again */
	struct config *older;  /* kept for readers that still use it */
};

struct atlock {
	struct store *store;
	struct clock clock;
	_Atomic(struct config *) config;
	pthread_mutex_t options_mutex; /* serialises replacing `config` */

	char host[65];
	bool shared;            /* other hosts write to the store as well */
	bool chains;            /* it has events of other hosts: it is shared, or was */
	_Atomic uint32_t boot;  /* identifies the boot of this host, or its life in a shared store: see state_host() */
	uint64_t instance;      /* identifies this manager among all that opened the store */
	_Atomic uint16_t chain; /* its event chain, and the host's number in a shared store */
	bool readonly;
	bool repair; /* see struct atlock_setup */

	op_after_fn *after; /* set by the manager, which knows the rooms above operations */
	atlock_change_fn *on_change;
	atlock_cut_fn *on_cut;
	void *change_arg; /* of both */
	atlock_log_fn *log;
	void *log_arg;
	struct log_limit log_store; /* for failures of the store */

	struct users *users;
	struct rates *rates; /* see limit.h */
	struct tallies *tallies;
	struct kept *kept; /* how much of the store each user has */
	struct event_usages *event_usages;
	struct sessions *sessions;
	struct comms *comms;
	struct watch *watch;   /* processes that holders are bound to */
	struct feed *feed;     /* what other hosts have changed */
	struct merges *merges; /* their events among ours */
	struct store_share share;
	struct cut_off *cut_off; /* see cut_off.h */
	_Atomic int64_t
		engine_down;   /* lease time since when a shared store's engine was away, if no event says so yet */
	struct alarms *alarms; /* NULL if the caller drives time itself */
	pthread_t thread;      /* acts on the alarms */
	bool background;       /* it runs */
	struct hook *hook;     /* the same */
	struct publisher *publisher; /* NULL: the store publishes nothing */

	struct seal *seal;           /* keys of the users' texts; NULL: none was given */
	bool sees_processes;         /* /proc is of our pid namespace */
	struct refusals *refusals;   /* not yet in the event log */
	struct waits *waits;         /* blocked calls, by number */
	struct positions *positions; /* see position.h */
	struct dir_paths *dir_paths;
	struct ends *ends;             /* grants still to be given back */
	_Atomic uint64_t random;       /* state of the generator */
	_Atomic uint64_t owners_swept; /* see struct atlock_status */
	struct metrics metrics;
	struct health *health;
	struct guards guards;
	int64_t opened;                /* wall time */
	struct test_clock *test_clock; /* replaces the system's, if not NULL */
};

/* Valid until atlock_close(). */
const struct config *state_config(struct atlock *al);
const struct atlock_options *state_options(struct atlock *al);

/*
 * Of a shared store: what `boot` is in the records of a host's holders, chain and life in one number; and the two from it. A host begins
 * another life when it starts, and when others took it for dead: state_host() looks what it is now. Does nothing if the store is not
 * shared.
 */
#define STATE_LIFE_BITS 22
uint32_t state_life(const struct store_host *host);
struct store_host state_life_of(uint32_t boot);
void state_host(struct atlock *al);

/* An unpredictable number, or with a seed the next of a fixed sequence. */
uint64_t state_random(struct atlock *al);

#endif
