/*
 * The names of processes, and the sessions they were in. Private to core/.
 *
 * Opening a file of /proc costs more than a whole commit; reading an open one costs next to nothing. So the files of
 * recent callers stay open. An open file stays bound to its process even if the pid is reused, and shows a name that
 * exec(2) or prctl(2) set later.
 *
 * A successful read also proves that the thread is still the one of last time. A process leaves its session only for a
 * new one with its own number and never returns, and a session keeps its number while it has a member. So a thread
 * whose session has the same number as last time is in the same session, even if the leader has exited, and session.h
 * need not be asked again. Because a process may leave, the number itself is read each time.
 *
 * Any thread may call.
 */
#ifndef CORE_COMM_H
#define CORE_COMM_H

#include <sys/types.h>

#include "session.h"

#define COMM_SLOTS 64 /* maximum of open files */

struct comms;

int comms_new(struct comms **out);

/* NULL is allowed. */
void comms_free(struct comms *comms);

/* As process_comm(). `session` is what was remembered of this thread; zero if there is nothing, or on error. */
int comms_read(struct comms *comms, pid_t tid, char out[16], struct session_id *session);

/* Remembers the session of a thread that was just read and is still blocked in its request. */
void comms_remember(struct comms *comms, pid_t tid, const struct session_id *session);

#endif
