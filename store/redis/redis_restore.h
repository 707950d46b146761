/*
 * A realm from a dump, in a Redis that does not have it. Its keys come first and its id last: a realm that is half restored is none, and
 * mounts are refused. It is not open: the first host that mounts it begins a new epoch, with numbers that leap ahead.
 */
#ifndef STORE_REDIS_RESTORE_H
#define STORE_REDIS_RESTORE_H

#include "redis_process.h"
#include "remote_dump.h"

/*
 * Begins, or goes on with what an interrupted restore of this very dump has left. 0; -EEXIST: there is a realm, or half of another; or a
 * negative errno.
 */
int redis_restore_keys(struct redis_process *process, const struct dump *dump);

/* Makes it a realm. As above. */
int redis_restore_end(struct redis_process *process, const struct dump *dump);

#endif
