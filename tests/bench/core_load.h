/*
 * Calls in a loop, on one thread or several, and how many of them fit into a second: one side of a comparison by itself, or
 * several in turns.
 */
#ifndef BENCH_CORE_LOAD_H
#define BENCH_CORE_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "core_report.h"

#define LOAD_THREADS 16 /* at most */

/* What is measured. `thread` counts from 0, `turn` the calls of that thread. Exits if something fails. */
typedef void load_fn(void *arg, unsigned int thread, uint64_t turn);

/* One side of a comparison. */
struct contender {
	load_fn *fn;
	void *arg;
	unsigned int threads;
	struct series rate; /* calls a second */
};

/*
 * Measures all of them, REPETITIONS times. They take turns of a twentieth of a second, so that what disturbs the machine
 * meanwhile disturbs them alike. A single thread is the caller's own.
 */
void load_compare(struct contender *contenders, size_t count);

/* Calls a second over exactly `count` calls on the caller's thread. */
double load_times(uint64_t count, load_fn *fn, void *arg);

/* Seconds since any fixed point. */
double load_clock(void);

#endif
