/*
 * How runs of `atlock guard` ended, by shared resource, since the manager was opened. The guard tells it: only it knows whether it gave up,
 * and after how many tries. Private to core/.
 */
#ifndef CORE_GUARDS_H
#define CORE_GUARDS_H

#include <pthread.h>
#include <stdio.h>

#include "atlock.h"

#define GUARDS_MAX 1000 /* resources that are counted; runs of others are not */

struct guard_count {
	struct guard_count *next; /* in order of names */
	uint64_t results[ATLOCK_GUARD_RESULTS];
	uint64_t tries;
	uint64_t time; /* ns that the tries took, with the pauses between them */
	char resource[ATLOCK_COMPONENT_MAX + 1];
};

struct guards {
	pthread_mutex_t mutex; /* a leaf: protects the rest */
	struct guard_count *first;
	size_t count;
};

void guards_init(struct guards *guards);
void guards_destroy(struct guards *guards);

/* Counts a run. */
void guards_add(struct guards *guards, const char *resource, enum atlock_guard_result result, uint64_t tries,
		uint64_t time);

/* Copies what is known of a resource; zeros if nothing is. */
void guards_get(struct guards *guards, const char *resource, struct guard_count *out);

/* Calls `fn` for each resource, in order of names. It must not call back. */
void guards_each(struct guards *guards, void (*fn)(FILE *out, const struct guard_count *count), FILE *out);

#endif
