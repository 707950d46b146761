/*
 * What the manager's own thread sleeps on: one timer for each thing that it may have to do, and the processes that are watched.
 * Any thread may set a timer, so that an operation need not know who acts on it. Private to core/.
 *
 * All of it but alarms_new(), alarms_wait() and alarms_free() does nothing for a manager that has no thread.
 */
#ifndef CORE_ALARM_H
#define CORE_ALARM_H

#include "state.h"

enum alarm {
	ALARM_STOP,    /* time to end */
	ALARM_DUE,     /* the next lease, ticket or claim */
	ALARM_GRAPH,   /* the next look for deadlocks */
	ALARM_OWNERS,  /* the next look for leftovers in owners/ */
	ALARM_ENDS,    /* ends that could not be written are tried again */
	ALARM_REFUSED, /* refusals that were noted are written */
	ALARM_PROBE,   /* a caller asks how things are */
	ALARM_STEP,    /* the wall clock was set */
	ALARM_WATCH,   /* a watched process is gone */
	ALARMS,
};

/* `watch` is a descriptor that is readable when a watched process is gone; it stays the caller's. */
int alarms_new(struct alarms **out, int watch);
void alarms_free(struct alarms *alarms);

/* Sleeps until there is something to do: what, or a negative errno. For the manager's thread alone. */
int alarms_wait(struct alarms *alarms);

/* Something is to be done `in` nanoseconds, in place of when it was to be done before. Not for ALARM_STEP and ALARM_WATCH. */
void alarm_set(struct atlock *al, enum alarm what, int64_t in);

/* There is something to do at `due` (lease time): wake then, if not earlier. */
void alarm_due(struct atlock *al, int64_t due);

/* There are ends that could not be written (ends.h): they are tried again in a second. */
void alarm_ends(struct atlock *al);

#endif
