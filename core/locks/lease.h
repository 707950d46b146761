/* Time passing: what ends by itself, and when. Private to core/. */
#ifndef CORE_LEASE_H
#define CORE_LEASE_H

#include "op.h"

/* As atlock_next_due(), which does not tell a store that cannot be read from one with nothing pending. */
int lease_next_due(struct atlock *al, int64_t *instant);

/* The wall clock was set: remembers by how much, so that a restart does not take the step for time passed. */
int lease_note_clock(struct atlock *al);

/* What is left to tell the lease time by if the end of the event chain cannot: see clock_start(). */
int lease_last(struct op *op, int64_t *last, int64_t *offset);

#endif
