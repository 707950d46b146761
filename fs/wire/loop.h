/*
 * The threads that read requests and answer them.
 *
 * The kernel wakes readers in turn, so with many of them every request would run on a thread whose stack and memory are
 * no longer in any CPU cache. So only a few threads read. When the last of them is busy, for as long as a commit may
 * take, another one is woken, the most recent sleeper; if none sleeps, a new one is made, up to a limit.
 *
 * A request that only waits for the store occupies no thread: it is kept, and the thread that makes the commit answers
 * it.
 */
#ifndef LOOP_H
#define LOOP_H

#include "turn.h"

/* The implementation of turn.h, for struct fs. */
extern const struct turns loop_turns;

/*
 * Called with each request as soon as it is read, in any order and with a mutex held: it must not wait. Returns whether
 * the request ends a lock, see fair_enter_end().
 */
typedef bool loop_seen_fn(struct fs *fs, const struct fuse_buf *buf);

/*
 * Returns when loop_seen_fn was called with every request that the kernel handed out before the calling thread's own.
 * Another thread may have read one and not called it yet. Readers that sleep in the kernel are interrupted, which shows
 * that they have none.
 */
void loop_catch_up(void);

/*
 * Serves the session until it is unmounted, or until fuse_session_exit() is called and a signal comes. 0 or a negative
 * errno.
 */
int loop_run(struct fs *fs, unsigned int max_threads, loop_seen_fn *seen);

#endif
