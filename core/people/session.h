/*
 * When the leader of a session started: the session's number together with that is one session for good, while the number
 * alone comes again. Private to core/.
 *
 * The number of a session is not given out again as long as the session has a member. So as long as there is a process of
 * that number it is the leader, and once it is gone the last one known of is taken for the caller's. That would be wrong
 * only if a session ended, its number came again, and the new leader was gone, too, before its session was first asked for.
 *
 * Asking for a session whose leader lives costs one cheap system call; /proc is read when a session is new or has lost its
 * leader. Each session remembered costs a descriptor. Any thread may call.
 */
#ifndef CORE_SESSION_H
#define CORE_SESSION_H

#include <stdint.h>
#include <sys/types.h>

#define SESSION_SLOTS 256 /* sessions remembered at a time, at most */

/* One session for good. `start` is 0 if nobody can tell any more. */
struct session_id {
	pid_t number;
	uint64_t start;
};

struct sessions;

int sessions_new(struct sessions **out);

/* NULL is allowed. */
void sessions_free(struct sessions *sessions);

/* When the leader of the session that a living process is in started (process.h); 0 if nobody can tell any more. */
uint64_t sessions_start(struct sessions *sessions, pid_t sid);

#endif
