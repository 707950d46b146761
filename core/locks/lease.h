/* Leases and other deadlines: what ends by itself, and when. Private to core/. */
#ifndef CORE_LEASE_H
#define CORE_LEASE_H

#include "op.h"

/* As atlock_next_due(), but tells a store that cannot be read from one with no deadline. */
int lease_next_due(struct atlock *al, int64_t *instant);

/* The wall clock was set: stores the step, so that a restart does not take it for elapsed time. */
int lease_note_clock(struct atlock *al);

/* The lease time's last resort if the end of the event chain cannot be read: see clock_start(). */
int lease_last(struct op *op, int64_t *last, int64_t *offset);

#endif
