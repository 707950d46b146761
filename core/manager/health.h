/*
 * Health checks, made on demand. Each is ok, degraded or failing, and the worst one is the result. Private to core/.
 *
 * The store is checked by a commit. The manager's own thread makes it on demand, at most one a second. So that thread is checked
 * too, and a reader never hangs on a disk that hangs. The reader that asks waits a second for the commit, other readers meanwhile
 * do not wait; after that the age of the pending commit is the result.
 */
#ifndef CORE_HEALTH_H
#define CORE_HEALTH_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "atlock.h"

#define HEALTH_TEXT 160

enum health_level { HEALTH_OK, HEALTH_DEGRADED, HEALTH_FAILING };

/* All times are as of steady_now(). */
struct health {
	pthread_mutex_t mutex; /* a leaf: protects everything here */
	pthread_cond_t answered;
	int64_t asked; /* when the pending commit was asked for; 0: none is pending */
	int64_t done;  /* when the last one ended; 0: there was none */
	int64_t took;
	int result;
	int64_t offset; /* wall minus lease time when the manager opened, or after the last step */
	int64_t stepped;
	int64_t searched; /* when the last search of all waits for deadlocks ended, or the manager opened */
	int search;       /* its result */
	int64_t step;     /* by how much the wall clock was set at `stepped` */
	int64_t noted;    /* when the mirror last said how it is; 0: never */
	uint64_t conflicts;
	char note[HEALTH_TEXT]; /* what it said is wrong */
};

struct health_check {
	const char *name;
	enum health_level level;
	char text[HEALTH_TEXT]; /* what is wrong; empty if nothing is */
};

#define HEALTH_CHECKS 11

struct health_report {
	enum health_level level; /* of the worst check */
	const struct health_check *worst;
	struct health_check checks[HEALTH_CHECKS];
};

int health_new(struct health **out);
void health_free(struct health *health);

/* Makes the commit that was asked for. Runs on the manager's own thread. */
void health_run(struct atlock *al);

/* Notes that all waits were searched for deadlocks, with this result. */
void health_searched(struct atlock *al, int result);

/* How many locks the mirror last found to be another's on the other side. */
uint64_t health_conflicts(struct atlock *al);

/* Makes all checks. With `probe` the store is checked by a commit, else by the result of the last one. */
void health_look(struct atlock *al, bool probe, struct health_report *out);

#endif
