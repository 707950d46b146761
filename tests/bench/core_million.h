/* Whether a million held locks make the others slower. */
#ifndef BENCH_CORE_MILLION_H
#define BENCH_CORE_MILLION_H

#include "core_side.h"

/* Makes its stores below `dir`. */
void million_measure(const char *dir);

/* Takes so many locks, in thousands, for an hour at least. Exits if it cannot. */
void million_fill(struct side *side, unsigned int count);

#endif
