/*
 * Locks and waits in a store that several hosts write to (docs/REMOTE.md): what was bound to a host that is gone, and calls blocked here that
 * another host has ended. Private to core/.
 */
#ifndef CORE_HOSTS_H
#define CORE_HOSTS_H

#include "op.h"

/*
 * Releases the locks and drops the tickets of sessions, processes, open files and blocked calls of every host's earlier lives, this host's
 * among them. Returns how many, or a negative errno.
 */
int hosts_sweep(struct atlock *al);

/*
 * Looks after the calls that are blocked here on a lock that another host changed; an empty one: on any lock. A grant is claimed and the call
 * answered; a call whose ticket is gone is told so. 0, or the negative errno of the last one that failed: then call again.
 */
int hosts_answer(struct atlock *al, struct slice lock);

#endif
