/*
 * The manager's own thread: ends leases when they are over, releases the locks of dead processes, searches for deadlocks at an
 * interval, removes old events, repairs leftovers in owners/ at the start and every hour, and notices that the wall clock was
 * set. It sleeps until the next of these is due (alarm.h); it never polls. Private to core/.
 */
#ifndef CORE_BACKGROUND_H
#define CORE_BACKGROUND_H

#include "state.h"

int background_start(struct atlock *al);
void background_stop(struct atlock *al);

/* Call it after the options have changed. */
void background_configured(struct atlock *al);

/* For struct store_share: the breaker around the engine has opened or closed. `arg` is the manager. */
void background_breaker(void *arg, bool closed);

/* Watches a process that locks or tickets are bound to. */
void background_bind(struct atlock *al, pid_t pid, uint64_t start);

#endif
