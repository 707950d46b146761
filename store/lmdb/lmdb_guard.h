/* Locks the files, and checks whether they are still the same. */
#ifndef STORE_LMDB_GUARD_H
#define STORE_LMDB_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct engine;

/* Opens the existing data file and locks it; keeps other programs' LMDB away. Both fill `why`. */
int lmdb_guard_data(struct engine *engine, const char *path, char *why, size_t whylen);
int lmdb_guard_foreign(struct engine *engine, const char *path, char *why, size_t whylen);

/*
 * Whether directory and files are still those that were opened, and no other program wrote to them. Checks only if the
 * last check is old enough, or `always`. Call with map_lock held shared, or by the leader. False: the store fails from
 * now on.
 */
bool lmdb_guard_holds(struct engine *engine, bool always);

/* Makes the store fail: the files are not the same. */
void lmdb_guard_trip(struct engine *engine);

#endif
