/*
 * Publishes this host's events for programs beside the file system, where the store has a way and was asked to (store_publish()). A thread
 * of its own follows the log, as the hook does, so no call waits for it. Private to core/.
 *
 * A message may be lost: no program listened, the daemon was killed, or the store was away for more than PUBLISH_BACKLOG events. What happened
 * is in the log.
 */
#ifndef CORE_PUBLISH_H
#define CORE_PUBLISH_H

#include "state.h"

#define PUBLISH_BACKLOG 4096

/* Begins with the newest event. Does nothing if the store publishes nothing. */
int publish_start(struct atlock *al);

/* Call it when events were committed. */
void publish_wake(struct atlock *al);

/* Publishes the last events, if that works at once, and ends the thread. */
void publish_stop(struct atlock *al);

#endif
