/*
 * The manager's own thread: ends leases the moment they are over, releases what a dead process held, looks for deadlocks
 * now and then, forgets events that are old enough, sets leftovers in owners/ right at the start and every hour, and notices
 * when somebody sets the wall clock. It sleeps until the next of these is due; it never polls.
 * Private to core/. All of it does nothing for a manager that has no thread.
 */
#ifndef CORE_BACKGROUND_H
#define CORE_BACKGROUND_H

#include "state.h"

int background_start(struct atlock *al);
void background_stop(struct atlock *al);

/* There is something to do at `due` (lease time): wake then, if not earlier. */
void background_arm(struct atlock *al, int64_t due);

/* Refusals were noted that are to be written soon. */
void background_refused(struct atlock *al);

/* There are ends that could not be written (ends.h): they are tried again in a second. */
void background_ends(struct atlock *al);

/* The options have changed. */
void background_configured(struct atlock *al);

/* Has health_run() called; false if there is no thread to do it. */
bool background_probe(struct atlock *al);

/* Locks or tickets live and die with this process: watch it. */
void background_bind(struct atlock *al, pid_t pid, uint64_t start);

#endif
