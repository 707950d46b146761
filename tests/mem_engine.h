/*
 * A store engine in memory for tests, with faults beneath the store interface. The data is in a world that outlives the
 * store: closing and opening again is what a restart is to a disk.
 *
 *	struct mem_world *world = mem_world_new(seed);
 *	struct store_options options = { .engine = &mem_engine, .engine_arg = world, .clock = &clock };
 *	store_open(&store, "mem", &options, why, sizeof(why));
 *	mem_world_faults(world)->crash_in = 3;		the third commit from now crashes
 *
 * Only transactions that wrote something commit, so only they are counted. One mutex guards everything: any thread may
 * use the store, but faults are set while no transaction runs.
 */
#ifndef TESTS_MEM_ENGINE_H
#define TESTS_MEM_ENGINE_H

#include "engine.h"
#include "store.h"
#include "txn_run.h"

extern const struct store_engine mem_engine;
/* Of a struct mem_world; the second records reads. */
extern const struct txn_source mem_source;
extern const struct txn_source mem_comparing_source;

struct mem_world;

struct mem_faults {
	uint64_t fail_in;   /* this commit from now (1: the next) fails and is not applied; 0: none */
	int fail_error;     /* with this positive errno */
	uint64_t crash_in;  /* this commit from now is the last: every call is -EIO until the store is opened again */
	bool crash_applied; /* and it was applied all the same */
	unsigned int rerun_percent; /* so many of 100 update functions run twice, the first time for nothing */
	bool compares;              /* commits compare what was read: set before the store is opened */
	/* Called between an update function and its commit, which it may make fail by a change through another store. */
	void (*before_commit)(void *arg, const struct txn_commit *commit);
	void *before_arg;
	uint64_t max_keys; /* space is low at so many keys; 0: never */
};

struct mem_counts {
	uint64_t keys;
	uint64_t commits;  /* applied */
	uint64_t failures; /* commits that failed or crashed */
	uint64_t reruns;
	uint64_t conflicts; /* commits that found a key of the read set changed */
	bool down;          /* crashed, and not opened again yet */
};

/* `seed` decides which functions run twice. Exits if there is no memory. */
struct mem_world *mem_world_new(uint64_t seed);
void mem_world_free(struct mem_world *world);

struct mem_faults *mem_world_faults(struct mem_world *world);
void mem_world_counts(struct mem_world *world, struct mem_counts *out);

#endif
