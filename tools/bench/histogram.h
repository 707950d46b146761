/* A histogram of durations, of a fixed size so that it fits into memory that processes share. */
#ifndef TOOLS_HISTOGRAM_H
#define TOOLS_HISTOGRAM_H

#include <stdint.h>

/* Each doubling is divided into so many parts, which makes lengths exact to about 3 %. */
#define HISTOGRAM_PARTS 32
#define HISTOGRAM_ROOM (60 * HISTOGRAM_PARTS)

/* All zero is empty. */
struct histogram {
	uint64_t count;
	uint64_t parts[HISTOGRAM_ROOM];
};

void histogram_count(struct histogram *histogram, uint64_t length);
void histogram_merge(struct histogram *histogram, const struct histogram *other);

/* The length that this share of all, 0 to 1, does not exceed; 0 if there are none. */
uint64_t histogram_at(const struct histogram *histogram, double share);

#endif
