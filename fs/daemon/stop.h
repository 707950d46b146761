/*
 * Ends the mount on SIGINT and SIGTERM. On SIGHUP the policy is read again.
 *
 * The kernel answers an invalidation only when the directory is free, and a directory is freed by our answer to the request
 * that holds it. So the thread that invalidates must be at rest before the workers are: a thread of its own takes the signal,
 * stops the one while the others still serve, and ends the loop then.
 */
#ifndef STOP_H
#define STOP_H

#include <signal.h>

#include "fs.h"

struct stop;

/* The signals that end a mount. */
void stop_signals(sigset_t *set);

/* Before any thread is started: these signals are for stop_start()'s alone. */
void stop_block_signals(void);

/* Call on the thread that runs the loop, before it does. NULL if no thread can be started. */
struct stop *stop_start(struct fs *fs);

/* The loop has ended: whether a signal asked for it. */
bool stop_end(struct stop *stop);

#endif
