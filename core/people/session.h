/*
 * The start time of a session's leader: number and start time together identify a session for good, while the number
 * alone is reused. Private to core/.
 *
 * The kernel does not reuse the number of a session while the session has a member. So as long as a process has that
 * number it is the leader, and once it has exited, the last known leader is taken for the caller's. That is wrong only
 * if a session ended, its number was reused, and the new leader had exited, too, before a lookup of the new session.
 *
 * A lookup costs one cheap system call if the leader lives; /proc is read when a session is new or has lost its leader.
 * Each remembered session costs a descriptor. Any thread may call.
 */
#ifndef CORE_SESSION_H
#define CORE_SESSION_H

#include <stdint.h>
#include <sys/types.h>

#define SESSION_SLOTS 256 /* maximum of remembered sessions */

/* Identifies a session for good. `start` is 0 if it is unknown, because the leader has exited. */
struct session_id {
	pid_t number;
	uint64_t start;
};

struct sessions;

int sessions_new(struct sessions **out);

/* NULL is allowed. */
void sessions_free(struct sessions *sessions);

/*
 * The start time of the leader of a living process's session (process.h); 0 if it is unknown, because the leader has
 * exited.
 */
uint64_t sessions_start(struct sessions *sessions, pid_t sid);

#endif
