/* The version of a store as a whole. Private to core/. */
#ifndef CORE_FORMAT_H
#define CORE_FORMAT_H

#include "op.h"

/* Turns a store of one version into the next, in the transaction it is given. */
typedef int format_step(struct op *op);

/*
 * Makes a new store ours, takes one of this version as it is, brings an older one up to date in a single transaction, and
 * refuses a newer one or one that is not ours.
 */
int format_open(struct atlock *al, struct atlock_why *why);

/*
 * The same with any target version and any steps: steps[v] leads from version v to v + 1. For tests of upgrades to come;
 * format_open() is this with RECORD_FORMAT and the steps there are.
 */
int format_open_as(struct atlock *al, uint32_t version, format_step *const *steps, struct atlock_why *why);

#endif
