/* The version of a store as a whole. Private to core/. */
#ifndef CORE_FORMAT_H
#define CORE_FORMAT_H

#include "op.h"

/* Upgrades a store to the next version, in the transaction it is given. */
typedef int format_step(struct op *op);

/*
 * Initialises a new store, accepts one of this version, upgrades an older one in a single transaction, and refuses a
 * newer one or one of another program.
 */
/* Name of the mark of a store that a migration has not ended with (migrate.c): it cannot be mounted. */
#define FORMAT_MIGRATING "migrating"

int format_open(struct atlock *al, struct atlock_why *why);

/*
 * The same with any target version and any steps: steps[v] upgrades version v to v + 1. For tests of future upgrades;
 * format_open() passes RECORD_FORMAT and the present steps.
 */
int format_open_as(struct atlock *al, uint32_t version, format_step *const *steps, struct atlock_why *why);

#endif
