/* What long queues and a large wait-for graph cost. */
#ifndef BENCH_CORE_QUEUE_H
#define BENCH_CORE_QUEUE_H

#include "core_side.h"

#define QUEUE_GRANTS 1000U /* at most, in one sample */

/* Make their stores below `dir`. */
void queue_measure_grant(const char *dir);
void queue_measure_deadlock(const char *dir);

/* The same by parts. A manager with sync=off on the store `name` below `dir`; exits if it cannot, as all of them. */
struct side *queue_side(const char *dir, const char *name);

/* Caller 0 takes the lock, 1 to `count` wait for it. */
void queue_fill(struct side *side, const struct atlock_name *name, unsigned int count);

/*
 * The usual microseconds of a release (the median), which hands the lock to the next: in a long queue, where `first` holds it and
 * `first` + 1 is next, and with one who waits.
 */
double queue_grant_long(struct side *side, const struct atlock_name *name, unsigned int first, unsigned int grants);
double queue_grant_short(struct side *side, const struct atlock_name *name, unsigned int grants);

/*
 * Caller i holds the lock i, "chain", and waits for lock i + 1; the holder of the last lock waits for no lock.
 * Caller `waiters` + 1 holds another lock.
 */
void queue_chain(struct side *side, unsigned int waiters);

/* The usual microseconds to join the queue of `name` under a deadlock_policy; leaves it again each time. */
double queue_join_cost(struct side *side, const struct atlock_name *name, unsigned int caller, const char *policy);

#endif
