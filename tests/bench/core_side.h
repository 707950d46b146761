/*
 * The core's side of the comparison: a manager, and callers that take locks of their own and give them back.
 */
#ifndef BENCH_CORE_SIDE_H
#define BENCH_CORE_SIDE_H

#include "atlock.h"
#include "core_load.h"
#include "engine.h"
#include "store.h"

#define SIDE_NAMES 4096 /* names that side_pair_spread() goes through */

struct side {
	struct atlock *al;
	struct atlock_caller callers[LOAD_THREADS];
	struct atlock_name own[LOAD_THREADS];
	struct atlock_name spread[SIDE_NAMES];
};

/* Opens a manager on the store in `dir`, with its background thread. `engine` may be NULL. Exits if it cannot. */
struct side *side_new(const char *dir, bool sync, const struct store_engine *engine);
void side_free(struct side *side);

/* load_fns over a struct side: acquire and release of the thread's own lock, or of one after another of many. */
void side_pair(void *arg, unsigned int thread, uint64_t turn);
void side_pair_spread(void *arg, unsigned int thread, uint64_t turn);

/* The name of lock `i`; `workspace` tells those that are measured from those that are held. */
void side_name(struct atlock_name *name, unsigned int i, const char *workspace);

/* The caller number `i`. */
void side_caller(struct atlock_caller *caller, unsigned int i);

/* Exits with what was refused unless `rc` is >= 0. */
void side_check(int rc, const struct atlock_why *why);

#endif
