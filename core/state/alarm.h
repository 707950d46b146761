/*
 * What the manager's background thread sleeps on: one timer for each of its tasks, and the watched processes. Any
 * thread may set a timer, so that an operation need not know which code acts on it. Private to core/.
 *
 * Without a background thread all functions but alarms_new(), alarms_wait() and alarms_free() do nothing.
 */
#ifndef CORE_ALARM_H
#define CORE_ALARM_H

#include "state.h"

enum alarm {
	ALARM_STOP,    /* the thread must end */
	ALARM_DUE,     /* the next deadline of a lease, ticket or claim */
	ALARM_GRAPH,   /* the next search for deadlocks */
	ALARM_OWNERS,  /* the next search for leftovers in owners/ */
	ALARM_ENDS,    /* retry ends that could not be written */
	ALARM_REFUSED, /* write the noted refusals */
	ALARM_PROBE,   /* a caller asks for the health of the manager */
	ALARM_ENGINE,  /* the engine of a shared store is back */
	ALARM_FEED,    /* another host has changed something: see feed.h */
	ALARM_STEP,    /* the wall clock was set */
	ALARM_WATCH,   /* a watched process has exited */
	ALARMS,
};

/* `watch` is a descriptor that is readable when a watched process has exited; the caller keeps its ownership. */
int alarms_new(struct alarms **out, int watch);
void alarms_free(struct alarms *alarms);

/* Sleeps until an alarm goes off. Returns it, or a negative errno. For the manager's thread only. */
int alarms_wait(struct alarms *alarms);

/* Sets the alarm to `in` nanoseconds from now, replacing its previous time. Not for ALARM_STEP and ALARM_WATCH. */
void alarm_set(struct atlock *al, enum alarm what, int64_t in);

/* Sets ALARM_DUE to `due` (lease time), unless it is set to an earlier time. */
void alarm_due(struct atlock *al, int64_t due);

/* Sets ALARM_ENDS: ends that could not be written (ends.h) are retried after a second. */
void alarm_ends(struct atlock *al);

#endif
