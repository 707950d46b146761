/* The data file, before LMDB walks it. */
#ifndef STORE_LMDB_CHECK_H
#define STORE_LMDB_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct engine;

/* Checks the open data file: all of it, or only the meta pages and roots. -EUCLEAN, with `why`, if it is damaged. */
int lmdb_check(const struct engine *engine, bool whole, const char *path, char *why, size_t whylen);

#endif
