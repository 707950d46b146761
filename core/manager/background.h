/*
 * The manager's own thread: ends leases the moment they are over, releases what a dead process held, looks for deadlocks
 * now and then, forgets events that are old enough, sets leftovers in owners/ right at the start and every hour, and notices
 * when somebody sets the wall clock. It sleeps until the next of these is due (alarm.h); it never polls. Private to core/.
 */
#ifndef CORE_BACKGROUND_H
#define CORE_BACKGROUND_H

#include "state.h"

int background_start(struct atlock *al);
void background_stop(struct atlock *al);

/* The options have changed. */
void background_configured(struct atlock *al);

/* Locks or tickets live and die with this process: watch it. */
void background_bind(struct atlock *al, pid_t pid, uint64_t start);

#endif
