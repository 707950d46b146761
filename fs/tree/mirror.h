/* Directories of queue/ and wait/: each mirrors a directory that may have locks. */
#ifndef MIRROR_H
#define MIRROR_H

#include "kind.h"

/*
 * Attributes of a directory of queue/ or wait/: those of the directory it mirrors, so that custom/'s modes hold there
 * too.
 */
int mirror_stat(struct call *call, uint64_t id, mode_t mode, struct stat *st, struct life *life);

#endif
