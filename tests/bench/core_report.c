#include "core_report.h"

#include <err.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *lines;
static const char *part;

void series_add(struct series *series, double sample)
{
	if (series->count < REPETITIONS)
		series->sample[series->count++] = sample;
}

static int sample_compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct series series_sorted(const struct series *series)
{
	struct series sorted = *series;

	qsort(sorted.sample, sorted.count, sizeof(sorted.sample[0]), sample_compare);
	return sorted;
}

double series_median(const struct series *series)
{
	struct series sorted = series_sorted(series);

	return sorted.count == 0 ? 0 : sorted.sample[sorted.count / 2];
}

struct series series_ratio(const struct series *a, const struct series *b)
{
	struct series ratio = { .count = 0 };

	for (size_t i = 0; i < a->count && i < b->count; i++)
		series_add(&ratio, a->sample[i] / b->sample[i]);
	return ratio;
}

void report_part(const char *title, const char *how)
{
	part = title;
	(void)printf("\n%s\n%s\n", title, how);
}

static const char *number_text(double value, char out[32])
{
	(void)snprintf(out, 32, value >= 1000 ? "%.0f" : value >= 10 ? "%.1f" : "%.3f", value);
	return out;
}

static const char *goal_text(struct goal goal, double median, char out[64])
{
	bool met = (goal.least == 0 || median >= goal.least) && (goal.most == 0 || median <= goal.most);

	out[0] = '\0';
	if (goal.least != 0 && goal.most != 0)
		(void)snprintf(out, 64, "goal %.2f to %.2f  %s", goal.least, goal.most, met ? "met" : "NOT MET");
	else if (goal.least != 0)
		(void)snprintf(out, 64, "goal >= %.2f  %s", goal.least, met ? "met" : "NOT MET");
	else if (goal.most != 0)
		(void)snprintf(out, 64, "goal <= %.2f  %s", goal.most, met ? "met" : "NOT MET");
	return out;
}

static void line_keep(const char *name, const char *unit, const struct series *sorted, double median, struct goal goal)
{
	json_t *line = json_pack("{ss ss ss sf sf sf}", "part", part, "name", name, "unit", unit, "median", median,
				 "min", sorted->sample[0], "max", sorted->sample[sorted->count - 1]);

	if (goal.least != 0)
		(void)json_object_set_new(line, "at_least", json_real(goal.least));
	if (goal.most != 0)
		(void)json_object_set_new(line, "at_most", json_real(goal.most));
	if (lines == NULL)
		lines = json_array();
	(void)json_array_append_new(lines, line);
}

void report_line(const char *name, const char *unit, const struct series *series, struct goal goal)
{
	struct series sorted = series_sorted(series);
	double median = series_median(series);
	char text[3][32];
	char aim[64];

	if (sorted.count == 0)
		return;
	(void)printf("  %-50s %9s %-8s [%s .. %s]  %s\n", name, number_text(median, text[0]), unit,
		     number_text(sorted.sample[0], text[1]), number_text(sorted.sample[sorted.count - 1], text[2]),
		     goal_text(goal, median, aim));
	(void)fflush(stdout);
	line_keep(name, unit, &sorted, median, goal);
}

void report_save(const char *path)
{
	if (path != NULL && json_dump_file(lines, path, JSON_INDENT(1)) != 0)
		warnx("%s: cannot be written", path);
	json_decref(lines);
	lines = NULL;
}
