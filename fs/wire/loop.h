/*
 * The threads that read requests and answer them.
 *
 * The kernel wakes readers in turn, so with many of them every request would find a thread whose stack and memory no cache
 * knows any more. So only a few read. When the last one of them is busy, for as long as a commit may take, another is woken,
 * the one that went to sleep last; and when there is none, made, up to a limit.
 *
 * A request that only waits for the store occupies no thread: it is kept, and answered by whoever makes the commit.
 */
#ifndef LOOP_H
#define LOOP_H

#include "turn.h"

/* For struct fs. */
extern const struct turns loop_turns;

/*
 * Called with each request as soon as it is read, in any order and with a mutex held: it may not wait. Returns whether the request
 * ends a lock, see fair_enter_end().
 */
typedef bool loop_seen_fn(struct fs *fs, const struct fuse_buf *buf);

/*
 * Returns when loop_seen_fn was called with every request that the kernel gave out before the calling thread's own. Another thread may
 * have one and not have got around to that yet; those that sleep in the kernel are interrupted, to know that they have none.
 */
void loop_catch_up(void);

/* Serves the session until it is unmounted or fuse_session_exit() is called and a signal comes. 0 or a negative errno. */
int loop_run(struct fs *fs, unsigned int max_threads, loop_seen_fn *seen);

#endif
