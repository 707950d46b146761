/* The known word that a mistyped one is probably meant to be. */
#ifndef TOOLS_NEAREST_H
#define TOOLS_NEAREST_H

#include <stddef.h>

/* Words longer than this are like no other. */
#define NEAREST_MAX 31

struct nearest {
	const char *word;
	size_t distance;
	char found[NEAREST_MAX + 1]; /* "" none is near */
};

/* Looks for what `word` may be meant to be among all that is tried then: the first of those that are nearest to it. */
void nearest_begin(struct nearest *nearest, const char *word);
void nearest_try(struct nearest *nearest, const char *known);

/*
 * How many letters must be changed, added, dropped or swapped with their neighbour to make one word from the other; of words
 * that are too long NEAREST_MAX.
 */
size_t nearest_distance(const char *a, const char *b);

#endif
