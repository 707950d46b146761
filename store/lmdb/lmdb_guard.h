/* The files: locked, and whether they are still the same. */
#ifndef STORE_LMDB_GUARD_H
#define STORE_LMDB_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct engine;

/* Opens the data file, which is there, and locks it; keeps other programs' LMDB away. Both fill `why`. */
int lmdb_guard_data(struct engine *engine, const char *path, char *why, size_t whylen);
int lmdb_guard_foreign(struct engine *engine, const char *path, char *why, size_t whylen);

/*
 * Whether directory and files are still those that were opened, and no other program wrote to them: looks if that was not done for a
 * while, or `always`. map_lock held shared, or by the leader. False: nothing works any more.
 */
bool lmdb_guard_holds(struct engine *engine, bool always);

/* They are not. */
void lmdb_guard_trip(struct engine *engine);

#endif
