/*
 * Heartbeats, and hosts that are gone. A host whose box has not changed for its time-out, counted while this host was in contact with the
 * engine, is gone: its incarnation is raised, which voids what is bound to it. The host itself stops before that: see remote_watchdog.h.
 */
#ifndef STORE_REMOTE_HOSTS_H
#define STORE_REMOTE_HOSTS_H

#include <stdbool.h>

struct engine;

/* Whether the box must be written, to show that this host is alive. By the leader. */
bool hosts_heartbeat_due(const struct engine *engine);

/* Joins if need be, writes the box if that is due, and looks after the other hosts. 0 or a negative errno. */
int remote_tick(struct engine *engine);

/* remote_tick() again and again, until the engine is closed; for pthread_create(). */
void *hosts_thread(void *engine);

/* Waits so many ms; true if the engine is being closed. */
bool hosts_pause(struct engine *engine, int ms);

#endif
