/*
 * What processes call themselves. Private to core/.
 *
 * Opening a file of /proc costs more than all of a commit, reading one that is open next to nothing: so those of the last
 * callers stay open. Such a file stays that of its process, whoever gets the number afterwards, and tells a name given by
 * exec(2) or prctl(2) meanwhile. Any thread may call.
 */
#ifndef CORE_COMM_H
#define CORE_COMM_H

#include <sys/types.h>

#define COMM_SLOTS 64 /* files kept open, at most */

struct comms;

int comms_new(struct comms **out);

/* NULL is allowed. */
void comms_free(struct comms *comms);

/* As process_comm(). */
int comms_read(struct comms *comms, pid_t tid, char out[16]);

#endif
