/* Processes whose flock(2) has ended because this host is cut off from a store that it shares: they are told by a signal. */
#ifndef LOST_H
#define LOST_H

#include <stddef.h>

/* An atlock_cut_fn; `arg` is the mount. Signals every process that has an open file which holds a lock. */
size_t lost_tell(void *arg, int number);

#endif
