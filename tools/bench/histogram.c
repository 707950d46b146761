#include "histogram.h"

#include <stddef.h>

#define BITS 5 /* of HISTOGRAM_PARTS */

/* Small lengths have a part each; for others the highest bit and the five bits after it choose the part. */
static size_t part_of(uint64_t length)
{
	unsigned int top;

	if (length < HISTOGRAM_PARTS)
		return (size_t)length;
	top = 63U - (unsigned int)__builtin_clzll(length);
	return (size_t)(top - BITS + 1) * HISTOGRAM_PARTS + (size_t)((length >> (top - BITS)) % HISTOGRAM_PARTS);
}

/* The middle of a part. */
static uint64_t part_length(size_t part)
{
	unsigned int shift;

	if (part < HISTOGRAM_PARTS)
		return part;
	shift = (unsigned int)(part / HISTOGRAM_PARTS) - 1;
	return ((uint64_t)(HISTOGRAM_PARTS + part % HISTOGRAM_PARTS) << shift) + ((UINT64_C(1) << shift) / 2);
}

void histogram_count(struct histogram *histogram, uint64_t length)
{
	histogram->count++;
	histogram->parts[part_of(length)]++;
}

void histogram_merge(struct histogram *histogram, const struct histogram *other)
{
	histogram->count += other->count;
	for (size_t i = 0; i < HISTOGRAM_ROOM; i++)
		histogram->parts[i] += other->parts[i];
}

uint64_t histogram_at(const struct histogram *histogram, double share)
{
	double wanted = share * (double)histogram->count;
	uint64_t seen = 0;
	size_t last = 0;

	for (size_t i = 0; i < HISTOGRAM_ROOM; i++) {
		if (histogram->parts[i] == 0)
			continue;
		last = i;
		seen += histogram->parts[i];
		if ((double)seen >= wanted)
			break;
	}
	return part_length(last);
}
