/*
 * Damage to a stage's store, and its repair.
 */
#ifndef TESTS_UNIT_SPOIL_H
#define TESTS_UNIT_SPOIL_H

#include "stage.h"

/* Removes all entries of a table, or overwrites their values with rubbish; one entry. There must be some. */
void spoil_empty(struct stage *s, unsigned char table);
void spoil_garble(struct stage *s, unsigned char table);
void spoil_del(struct stage *s, struct slice key);

/* Repairs the store, which must need it and be in order then. What was told of it is good until the next call that returns text. */
const char *spoil_repair(struct stage *s);

#endif
