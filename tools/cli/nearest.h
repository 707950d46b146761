/* The known word that a mistyped one is probably meant to be. */
#ifndef TOOLS_NEAREST_H
#define TOOLS_NEAREST_H

#include <stddef.h>

#include <atlock.h>

/* Words longer than this are like no other. */
#define NEAREST_MAX ATLOCK_WORD_MAX

struct nearest {
	const char *word;
	size_t distance;
	char found[NEAREST_MAX + 1]; /* "" none is near */
};

/* Looks for what `word` may be meant to be among all that is tried then: the first of those that are nearest to it. */
void nearest_begin(struct nearest *nearest, const char *word);
void nearest_try(struct nearest *nearest, const char *known);

#endif
