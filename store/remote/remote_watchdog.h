/*
 * A host that is cut off from the engine. Others take what is bound to this host when its box has not changed for host_timeout; the host
 * itself stops to believe in it earlier, WATCHDOG_PERCENT of that after it sent the last box that was written, whether or not it reaches
 * anything. From then on it is cut: it commits and answers nothing before it has begun another life, and tells the core of it.
 */
#ifndef STORE_REMOTE_WATCHDOG_H
#define STORE_REMOTE_WATCHDOG_H

#include <stdbool.h>

struct engine;

#define WATCHDOG_PERCENT 80

/* Whether this host is cut off. The call that finds out tells the core before it returns. Any thread, outside transactions. */
bool watchdog_cut(struct engine *engine);

/* Tells the core once more: there may be locks that were granted while the host was being cut off. The same threads. */
void watchdog_tell(struct engine *engine);

/* The leader has begun another life. */
void watchdog_renewed(struct engine *engine);

/* Looks in time, and tells every second while the host is cut off; for pthread_create(), with the engine. */
void *watchdog_thread(void *arg);

#endif
