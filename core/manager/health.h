/*
 * Whether all is well: checks that are made when somebody asks, each ok, degraded or failing, and the worst of them is the
 * whole's. Private to core/.
 *
 * The store is checked by a commit, which the manager's own thread makes on demand, at most one a second: so that thread is
 * checked with it, and whoever asks never hangs on a disk that does. One who asks waits a second for the answer, others who
 * ask meanwhile do not; then the age of the question is the answer.
 */
#ifndef CORE_HEALTH_H
#define CORE_HEALTH_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "atlock.h"

enum health_level { HEALTH_OK, HEALTH_DEGRADED, HEALTH_FAILING };

/* All times are as of steady_now(). */
struct health {
	pthread_mutex_t mutex; /* a leaf: protects everything here */
	pthread_cond_t answered;
	int64_t asked; /* when the commit under way was asked for; 0: none is */
	int64_t done;  /* when the last one ended; 0: there was none */
	int64_t took;
	int result;
	int64_t offset; /* wall minus lease time when the manager opened, or after the last step */
	int64_t stepped;
	int64_t step; /* by which the wall clock was set then */
};

struct health_check {
	const char *name;
	enum health_level level;
	char text[160]; /* what is wrong; empty if nothing is */
};

#define HEALTH_CHECKS 8

struct health_report {
	enum health_level level; /* of the worst */
	const struct health_check *worst;
	struct health_check checks[HEALTH_CHECKS];
};

int health_new(struct health **out);
void health_free(struct health *health);

/* Makes the commit that was asked for. On the manager's own thread. */
void health_run(struct atlock *al);

/* Makes all checks; with `probe` the store's as well, else it stands as it was found last. */
void health_look(struct atlock *al, bool probe, struct health_report *out);

/* "ok", "degraded", "failing". Never NULL. */
const char *health_level_name(enum health_level level);

#endif
