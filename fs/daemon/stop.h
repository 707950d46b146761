/*
 * Ends the mount on SIGINT and SIGTERM. On SIGHUP the policy is read again.
 *
 * The kernel processes an invalidation only when the directory is unlocked, and our reply to the request that holds the
 * directory unlocks it. So the thread that invalidates must stop before the workers do: a thread of its own takes the
 * signal, stops the invalidating thread while the workers still serve, and then ends the loop.
 */
#ifndef STOP_H
#define STOP_H

#include <signal.h>

#include "fs.h"

struct stop;

/* The signals that end a mount. */
void stop_signals(sigset_t *set);

/* Call before any thread is started: only the thread of stop_start() takes these signals. */
void stop_block_signals(void);

/* Call on the thread that runs the loop, before the loop. NULL if no thread can be started. */
struct stop *stop_start(struct fs *fs);

/* Call when the loop has ended: returns whether a signal asked for it. */
bool stop_end(struct stop *stop);

#endif
