/*
 * The threads that read requests and answer them.
 *
 * The kernel wakes readers in turn, so with many of them every request would find a thread whose stack and memory no cache
 * knows any more. So only a few read. When the last one of them is busy, for as long as a commit may take, another is woken,
 * the one that went to sleep last; and when there is none, made, up to a limit.
 */
#ifndef LOOP_H
#define LOOP_H

#include "fs.h"

/* Serves the session until it is unmounted or fuse_session_exit() is called and a signal comes. 0 or a negative errno. */
int loop_run(struct fuse_session *session, unsigned int max_threads);

#endif
