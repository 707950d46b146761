/*
 * What processes call themselves, and which session they were in. Private to core/.
 *
 * Opening a file of /proc costs more than all of a commit, reading one that is open next to nothing: so those of the last
 * callers stay open. Such a file stays that of its process, whoever gets the number afterwards, and tells a name given by
 * exec(2) or prctl(2) meanwhile.
 *
 * Reading it also says that the thread is the one of last time. A process leaves its session for one of its own number and
 * never comes back, and a session that has a member keeps its number: so whoever is in a session of the same number as
 * last time is in the same session, whatever became of its leader, and session.h needs not be asked again. That a process
 * may leave is why the number itself is asked for each time.
 *
 * Any thread may call.
 */
#ifndef CORE_COMM_H
#define CORE_COMM_H

#include <sys/types.h>

#include "session.h"

#define COMM_SLOTS 64 /* files kept open, at most */

struct comms;

int comms_new(struct comms **out);

/* NULL is allowed. */
void comms_free(struct comms *comms);

/* As process_comm(). `session` is what was remembered of this very thread; zero if that is nothing, or on error. */
int comms_read(struct comms *comms, pid_t tid, char out[16], struct session_id *session);

/* To be remembered of a thread that was just read and still waits for us. */
void comms_remember(struct comms *comms, pid_t tid, const struct session_id *session);

#endif
