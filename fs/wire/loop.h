/*
 * The threads that read requests and answer them.
 *
 * The kernel wakes readers in turn, so with many of them every request would run on a thread whose stack and memory are
 * no longer in any CPU cache. So only a few threads read. When the last of them is busy, for as long as a commit may
 * take, another one is woken, the most recent sleeper; if none sleeps, a new one is made, up to a limit.
 *
 * A request that only waits for the store occupies no thread: the thread that makes the commit answers it. At most
 * LOOP_PENDING requests are answered later; while there are so many, no thread reads.
 */
#ifndef LOOP_H
#define LOOP_H

#include "fs.h"

extern const struct wire loop_wire;

/*
 * Called with each request as soon as it is read, in any order and with a mutex held: it must not wait. Returns whether
 * the request is to be processed now; if not, endings_next() returns it later.
 */
typedef bool loop_seen_fn(struct fs *fs, const struct fuse_buf *buf);

/*
 * Serves the session until it is unmounted, or until fuse_session_exit() is called and a signal comes. 0 or a negative
 * errno.
 */
int loop_run(struct fs *fs, unsigned int max_threads, loop_seen_fn *seen);

#endif
