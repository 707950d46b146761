/*
 * Runs the command of the option on_event for every event, with the event's line on its standard input. A thread of its own
 * follows the event log, so no call ever waits for a hook: a hook that is late reads its events from the log later. Private to
 * core/.
 *
 * At most HOOK_SLOTS commands run at a time. A command that fails or takes longer than on_event_timeout is tried again,
 * HOOK_TRIES times in all, with pauses in between; then its event is dropped. After several failures in a row a breaker stops further commands until a trial
 * command succeeds. If the hook is more than HOOK_BACKLOG events behind, it drops the oldest. Dropped events are counted.
 */
#ifndef CORE_HOOK_H
#define CORE_HOOK_H

#include "breaker.h"
#include "state.h"

#define HOOK_SLOTS 4
#define HOOK_TRIES 3
#define HOOK_BACKLOG 1024

/* Outcomes of commands, and the present state. */
struct hook_stats {
	uint64_t ok;
	uint64_t failed;
	uint64_t timed_out;
	uint64_t dropped; /* events that no command has taken */
	int64_t drop_age; /* ns since the last of them; ATLOCK_NEVER: there was none */
	uint64_t opened;  /* times the breaker opened */
	uint64_t behind;  /* events not handed over yet */
	int64_t lag;      /* ns since the first of them */
	enum breaker_state breaker;
	int64_t retry_in; /* ns until an open breaker allows a trial */
};

/* Allocates the state; the thread starts when there is a command. */
int hook_new(struct atlock *al);

/* Call it when options may have changed: starts the thread once there is a command. A manager without a command has no thread. */
int hook_configured(struct atlock *al);

/* Call it when events were committed. Costs nothing without a command. */
void hook_wake(struct atlock *al);

/* Gives commands a moment to take the last events, then ends them and the thread. */
void hook_stop(struct atlock *al);
void hook_free(struct atlock *al);

void hook_stats(struct atlock *al, struct hook_stats *out);

#endif
