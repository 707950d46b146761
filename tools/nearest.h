/* The known word that a mistyped one is probably meant to be. */
#ifndef TOOLS_NEAREST_H
#define TOOLS_NEAREST_H

#include <stddef.h>

/*
 * How many letters must be changed, added, dropped or swapped with their neighbour to make one word from the other. Words
 * longer than NEAREST_MAX count as NEAREST_MAX letters apart from any other.
 */
#define NEAREST_MAX 31
size_t nearest_distance(const char *a, const char *b);

#endif
