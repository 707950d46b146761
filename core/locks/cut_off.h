/*
 * What becomes of processes whose locks end because their host is cut off from a shared store (docs/REMOTE.md): they get the signal of
 * lost_signal, before another host may have their locks. Sessions get none: their leader may be a login, or a service that runs others' jobs
 * as well. Private to core/.
 */
#ifndef CORE_CUT_OFF_H
#define CORE_CUT_OFF_H

#include "op.h"

struct cut_off;

int cut_off_new(struct cut_off **out);
void cut_off_free(struct cut_off *cut_off);

/* For struct store_share: signals the processes of "pid:" holders, each once, and asks for those of open files. `arg` is the manager. */
void cut_off_tell(void *arg);

#endif
