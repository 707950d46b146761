/*
 * Open files whose flock is being given back. The kernel tells of the last close in the background, after close(2) has
 * returned or the process is gone, so whoever comes next could be refused by a holder that is on its way out: such a refusal
 * waits for it, for as long as a commit takes. The close is queued before what is done after it, but another worker may come
 * to that first. So it is waited for already when there is reason to expect it: the holder closed a descriptor, which the
 * kernel says before close(2) returns, or its process is gone.
 */
#ifndef ENDING_H
#define ENDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct endings *endings_new(void);
void endings_free(struct endings *endings);

/* The holder of this grant closed a descriptor: perhaps the last one. */
void endings_expect(struct endings *endings, uint64_t token);

void endings_begin(struct endings *endings, uint64_t token);
void endings_end(struct endings *endings, uint64_t token);

/*
 * Waits for the end of a grant that has begun, or for one that is to be expected: once for each close, and once when its
 * process `holder` is gone. False if there is nothing to wait for: then the refusal stands.
 */
bool endings_wait(struct endings *endings, pid_t holder, uint64_t token);

#endif
