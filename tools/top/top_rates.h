/* What metrics/atlockfs.prom has counted, and how fast that grows. */
#ifndef TOOLS_TOP_RATES_H
#define TOOLS_TOP_RATES_H

#include <stdbool.h>
#include <stdint.h>

struct top_counts {
	double started; /* when the daemon was: it counts from 0 then */
	double held;
	double waiting;
	double granted; /* since then, as the next; at once or to a waiter */
	double released;
	double refused;
	double expired;
	int64_t at; /* when it was read, in ns of a clock that never steps */
};

/* How many a second. */
struct top_rates {
	bool known;
	double granted;
	double released;
	double refused;
	double expired;
};

/* Adds what a line of the file says; any line will do. */
void top_counts_take(struct top_counts *counts, const char *line);

/* Between two readings. Not known if there was only one, or another daemon counted in between. */
void top_rates_between(const struct top_counts *before, const struct top_counts *now, struct top_rates *out);

#endif
