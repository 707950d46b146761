/*
 * Several processes that do the same thing over and over, and how often they do it in a second, all together.
 */
#ifndef BENCH_PROCS_H
#define BENCH_PROCS_H

#include <stdint.h>

#define PROCS_MAX 256

/* `arg` is each process's own copy. Both exit if something fails. */
struct work {
	void (*begin)(void *arg, unsigned int number); /* in each process, before anything is measured */
	void (*step)(void *arg);
};

/*
 * Each process takes one step that is not counted, waits for the others, and goes on for `seconds`, or for `steps` of them
 * if that is not 0. Returns steps a second. Exits if a process fails.
 */
double procs_rate(const struct work *work, void *arg, unsigned int processes, double seconds, uint64_t steps);

/* Seconds since any fixed point, the same one in every process. */
double procs_clock(void);

#endif
