/*
 * Which lock an id belonged to when it was last seen. Ids are in no index of the store, and `ls -l` of a directory of by/ asks
 * for each; a hint spares looking through all that somebody holds. A hint may be old or missing: whoever uses one reads the
 * lock and compares.
 */
#ifndef HINT_H
#define HINT_H

#include "fs.h"

struct hints;

struct hints *hints_new(void);
void hints_free(struct hints *hints);

/* Remembers where an id was; without memory it does not. */
void hint_set(struct hints *hints, const char *id, const struct atlock_name *name);

/* 0 and the lock, or 1. */
int hint_get(struct hints *hints, const char *id, struct atlock_name *out);

#endif
