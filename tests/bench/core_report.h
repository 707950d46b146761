/*
 * What the benchmark measured: samples of one figure, and the table and the JSON file that show them.
 */
#ifndef BENCH_CORE_REPORT_H
#define BENCH_CORE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#define REPETITIONS 7

/* One figure, once for each repetition. */
struct series {
	size_t count;
	double sample[REPETITIONS];
};

/* Zero: no goal. */
struct goal {
	double least;
	double most;
};

void series_add(struct series *series, double sample);
double series_median(const struct series *series);

/* Repetition by repetition, so that what disturbed both sides of a comparison cancels out. */
struct series series_ratio(const struct series *a, const struct series *b);

/* A heading, with a sentence or two on how it is measured. */
void report_part(const char *title, const char *how);

/* One line: name, median, spread, and the goal with whether it is met. */
void report_line(const char *name, const char *unit, const struct series *series, struct goal goal);

/* Writes all lines to a JSON file. NULL: does nothing. */
void report_save(const char *path);

#endif
