/*
 * A manager for tests: over the engine in memory, with a clock that moves when told to, and everything named by strings.
 * A caller is "owner@who": the owner's first letter gives his uid, and "root" is an administrator.
 *
 *	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
 *	stage_advance(s, 61);
 *	assert_string_equal(stage_holder(s, "global/a"), "free");
 *
 * Every update function runs twice, the first time for nothing. Tearing down checks that the whole store agrees with
 * itself and that the chain of events holds.
 */
#ifndef TESTS_UNIT_STAGE_H
#define TESTS_UNIT_STAGE_H

#include <pthread.h>

#include "atlock.h"
#include "atlock/check.h"
#include "atlock/manual.h"
#include "mem_engine.h"

/* A request with what it points to. */
struct ask {
	struct atlock_request req;
	struct atlock_name name;
	struct atlock_caller caller;
};

struct told;

struct stage {
	struct mem_world *world;
	const void *engine; /* instead of the one in memory, with its argument, the name of the host and the seed */
	void *engine_arg;
	const char *host;
	uint64_t seed;
	int64_t tick; /* each reading of the clock adds so much */
	char *dir;    /* of a live stage; it has no world, and its clock cannot be moved */
	struct atlock *al;
	struct atlock_options options; /* for the next stage_open() */
	uint64_t store_max_bytes;      /* the same */
	atlock_change_fn *on_change;   /* the same */
	void *change_arg;
	struct atlock_time time; /* what the clock shows */
	int64_t preempted;       /* the next reading of the wall clock comes so much after that of the steady clock */
	struct atlock_why why;   /* of the last call */
	struct atlock_grant grant;
	struct told *told;
	bool damaged;  /* the test broke the store: it is not checked at the end */
	uint64_t seen; /* the last event that stage_events() has shown */
	struct ask asks[8];
	unsigned int asked;
	char text[16384];
};

int stage_setup(void **state);
int stage_teardown(void **state);

/* What stage_setup() makes, before it is opened. */
struct stage *stage_new(void);

/* The same over LMDB in a directory of its own, with real clocks and the manager's own thread. */
int stage_setup_live(void **state);

/* Tests of cmocka's with a stage of their own. */
#define STAGED(test) cmocka_unit_test_setup_teardown(test, stage_setup, stage_teardown)
#define STAGED_LIVE(test) cmocka_unit_test_setup_teardown(test, stage_setup_live, stage_teardown)

/* Opens and closes the manager; the store lives on in between, as on a disk. */
void stage_open(struct stage *s);
void stage_close(struct stage *s);
void stage_reopen(struct stage *s);

/* Time passes, by seconds or nanoseconds; or somebody sets the wall clock. */
void stage_advance(struct stage *s, int64_t seconds);
void stage_advance_ns(struct stage *s, int64_t ns);
void stage_set_wall(struct stage *s, int64_t seconds);

/* Changes an option of the running manager; it must be a good one. */
void stage_configure(struct stage *s, const char *option, const char *value);

struct atlock_name stage_name(const char *path);
struct atlock_caller stage_caller(const char *as);

/* A request to fill in further. It is good until eight more have been asked for. */
struct atlock_request *stage_ask(struct stage *s, const char *lock, const char *as);

/* The calls of atlock.h for one lock. Leases are in seconds, 0 for the default; a priority is given where one waits. */
int stage_acquire(struct stage *s, const char *lock, const char *as, int64_t seconds);
int stage_release(struct stage *s, const char *lock, const char *as);
int stage_renew(struct stage *s, const char *lock, const char *as, int64_t seconds);
int stage_write(struct stage *s, const char *lock, const char *as, const char *text);
int stage_transfer(struct stage *s, const char *lock, const char *as, const char *to);
int stage_enqueue(struct stage *s, const char *lock, const char *as, enum atlock_priority priority, uint64_t *ticket);

/* "alice@1", "alice@1 pending" or "free". Good until the next call that returns text. */
const char *stage_holder(struct stage *s, const char *lock);

/* A lock that must be held, as it stands. Free it with atlock_view_clear(). */
struct atlock_view stage_view(struct stage *s, const char *lock);

/* Waiters in service order: "bob@1 carol@2". */
const char *stage_queue(struct stage *s, const char *lock);

/* The events since this was asked last, or since the manager was first opened: "acquired released". */
const char *stage_events(struct stage *s);

/* How many commits have changed the store. */
uint64_t stage_commits(struct stage *s);

/* Changes the store behind the manager's back, which may be open; that of a live stage must be closed. */
int stage_tamper(struct stage *s, store_fn *fn, void *arg);
void stage_put(struct stage *s, struct slice key, struct slice value);

/* How a wait ended. */
struct told {
	struct told *next; /* of the same stage */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool absent; /* takes no grant */
	unsigned int times;
	int err;
	enum atlock_code code;
	struct atlock_grant grant;
	char text[sizeof(((struct atlock_why *)NULL)->text)]; /* why, if it was refused */
};

/* One that has been told nothing yet. It lives as long as the stage: those who still wait are told when that closes. */
struct told *stage_told(struct stage *s);

/* For atlock_wait(), with a struct told as the argument. */
bool told_done(void *arg, int err, const struct atlock_grant *grant, const struct atlock_why *why);

/* Blocks until it has been told, for a minute at most, and returns the outcome. */
int told_await(struct told *told);

/* Waits with the default timeout: what atlock_wait() returns. `wait` may be NULL. */
int stage_wait(struct stage *s, const char *lock, const char *as, enum atlock_priority priority, struct told *told,
	       uint64_t *wait);

#endif
