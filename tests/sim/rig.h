/*
 * The manager under test with everything around it replaced: clocks that only the simulation moves, a store that fails
 * on demand, callers that block in name only. rig_play() does one step and notes all that came back.
 */
#ifndef SIM_RIG_H
#define SIM_RIG_H

#include "atlock.h"
#include "cast.h"
#include "mem_engine.h"
#include "model.h"
#include "step.h"

#define RIG_TOLD 64
#define RIG_EVENTS 256

/* A parked call hears how its wait ended. */
struct rig_told {
	int waiter;
	int err;
	enum atlock_code code;
	struct atlock_grant grant;
};

struct rig_event {
	enum atlock_event_type type;
	int lock; /* -1: not about one */
	uint64_t token;
};

struct rig_result {
	int ret;
	bool failed;   /* the commit was made to fail */
	bool crashed;  /* the machine died at the commit; it is up again now */
	bool reopened; /* the manager is another one than before the step */
	bool unclean;  /* and the one before could not say goodbye */
	struct atlock_why why;
	struct atlock_grant grants[STEP_ALL_MAX];
	uint64_t ticket;
	uint64_t released_token;
	size_t failed_index;
	size_t released;
	unsigned listed;         /* bit set of locks */
	unsigned changed_locks;  /* bit set of the locks on_change named, */
	unsigned changed_queues; /* and of those whose queue it named */
	bool listed_badly;       /* out of order, twice, or unknown */
	int pages;
	struct rig_told told[RIG_TOLD];
	int told_len;
	struct rig_event events[RIG_EVENTS];
	int events_len;
	bool events_gap; /* sequence numbers do not follow each other */
};

struct rig_wait {
	struct rig *rig;
	uint64_t handle;
	bool parked; /* atlock_wait() answered 1 */
	int told;
};

struct rig {
	struct atlock *al;
	const char *lmdb; /* a directory, or NULL: in memory */
	struct mem_world *world;
	struct atlock_time time;
	struct atlock_options options;
	uint64_t seed;
	uint64_t event_next;
	struct rig_wait *waits; /* by waiter */
	int waits_len;
	struct rig_result *result; /* of the step that runs */
};

/* A fresh store, opened. `waits` is how many waits may begin before rig_fini(). 0 or a negative errno. */
int rig_init(struct rig *rig, const char *lmdb, uint64_t seed, const struct model_options *options, int waits);

/* Closes the manager if it is open, and forgets the store. */
void rig_fini(struct rig *rig);

void rig_play(struct rig *rig, const struct step *step, struct rig_result *result);

/* Closes; whoever is parked is told into `result`. */
void rig_close(struct rig *rig, struct rig_result *result);

/* play.c: the call a step stands for. */
void rig_call(struct rig *rig, const struct step *step, struct rig_result *result);

#endif
