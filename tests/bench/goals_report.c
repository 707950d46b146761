#include <bsd/string.h>
#include <err.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "goals.h"

static const char *number_text(double value, char out[NUMBER_TEXT])
{
	double size = fabs(value);

	(void)snprintf(out, NUMBER_TEXT, size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : "%.2f", value);
	return out;
}

const char *number_unit(double value, const char *unit, char out[NUMBER_TEXT])
{
	(void)number_text(value, out);
	(void)strlcat(out, " ", NUMBER_TEXT);
	(void)strlcat(out, strcmp(unit, "x") == 0 ? "×" : unit, NUMBER_TEXT);
	return out;
}

static const char *goal_text(const struct figure *figure, char out[NUMBER_TEXT])
{
	bool is_least = figure->goal.least != 0;
	char number[NUMBER_TEXT];

	(void)strlcpy(out, is_least ? "≥ " : "≤ ", NUMBER_TEXT);
	(void)strlcat(out, number_unit(is_least ? figure->goal.least : figure->goal.most, figure->unit, number),
		      NUMBER_TEXT);
	return is_least || figure->goal.most != 0 ? out : "";
}

static double least(const struct series *series)
{
	double value = series->sample[0];

	for (size_t i = 1; i < series->count; i++)
		value = fmin(value, series->sample[i]);
	return value;
}

static double most(const struct series *series)
{
	double value = series->sample[0];

	for (size_t i = 1; i < series->count; i++)
		value = fmax(value, series->sample[i]);
	return value;
}

static void figure_print(const struct figure *figure, const struct series *series)
{
	char text[4][NUMBER_TEXT];
	double reach = figure_reach(figure, series_median(series));

	if (series->count == 0) {
		printf("| %s | %s | %s | not measured | | |\n", figure->number, figure->what,
		       goal_text(figure, text[0]));
		return;
	}
	printf("| %s | %s | %s | %s | %s to %s | %s |\n", figure->number, figure->what, goal_text(figure, text[0]),
	       number_unit(series_median(series), figure->unit, text[1]), number_text(least(series), text[2]),
	       number_text(most(series), text[3]),
	       reach == 0   ? ""
	       : reach >= 1 ? "met"
			    : "**missed**");
}

static void value_print(enum value value, const struct series *series)
{
	char text[3][NUMBER_TEXT];

	if (series->count > 0)
		printf("| %s | %s | %s to %s |\n", value_names[value].name,
		       number_unit(series_median(series), value_names[value].unit, text[0]),
		       number_text(least(series), text[1]), number_text(most(series), text[2]));
}

void goals_print(const struct repetition *done, unsigned int repetitions)
{
	struct utsname system;

	if (uname(&system) != 0)
		err(1, "uname");
	printf("Scale `%s`: median of %u, least to most; %ld processors, Linux %s. %u locks held, %u waiters, %u parked, "
	       "%u files listed.\n\n",
	       run.scale->name, repetitions, sysconf(_SC_NPROCESSORS_ONLN), system.release, run.scale->held,
	       run.scale->waiters, run.scale->parked, run.scale->files);
	puts("| # | what | goal | reached | spread | |\n|---|---|---|---|---|---|");
	for (size_t i = 0; i < figures_count; i++) {
		struct series series = figure_series(&figures[i], done, repetitions);

		figure_print(&figures[i], &series);
	}
	puts("\nWhat they are made of:\n\n| value | median | spread |\n|---|---|---|");
	for (enum value value = 0; value < VALUES; value++) {
		struct series series = value_series(value, done, repetitions);

		value_print(value, &series);
	}
}

/* --- JSON --- */

static json_t *series_json(json_t *object, const char *unit, const struct series *series)
{
	json_t *samples = json_array();

	for (size_t i = 0; i < series->count; i++)
		(void)json_array_append_new(samples, json_real(series->sample[i]));
	(void)json_object_set_new(object, "unit", json_string(unit));
	if (series->count > 0)
		(void)json_object_set_new(object, "median", json_real(series_median(series)));
	(void)json_object_set_new(object, "samples", samples);
	return object;
}

static json_t *figure_json(const struct figure *figure, const struct series *series)
{
	json_t *object = json_pack("{ss ss}", "number", figure->number, "what", figure->what);
	double reach = figure_reach(figure, series_median(series));

	if (figure->goal.least != 0)
		(void)json_object_set_new(object, "at_least", json_real(figure->goal.least));
	if (figure->goal.most != 0)
		(void)json_object_set_new(object, "at_most", json_real(figure->goal.most));
	if (reach != 0 && series->count > 0)
		(void)json_object_set_new(object, "met", json_boolean(reach >= 1));
	return series_json(object, figure->unit, series);
}

void goals_save(const char *path, const struct repetition *done, unsigned int repetitions)
{
	json_t *list = json_array();
	json_t *values = json_object();
	json_t *all = json_pack("{ss si si si si so so}", "scale", run.scale->name, "processors",
				(int)sysconf(_SC_NPROCESSORS_ONLN), "held", (int)run.scale->held, "waiters",
				(int)run.scale->waiters, "parked", (int)run.scale->parked, "figures", list, "values",
				values);

	for (size_t i = 0; i < figures_count; i++) {
		struct series series = figure_series(&figures[i], done, repetitions);

		(void)json_array_append_new(list, figure_json(&figures[i], &series));
	}
	for (enum value value = 0; value < VALUES; value++) {
		struct series series = value_series(value, done, repetitions);

		(void)json_object_set_new(values, value_names[value].name,
					  series_json(json_object(), value_names[value].unit, &series));
	}
	if (json_dump_file(all, path, JSON_INDENT(1)) != 0)
		errx(1, "%s: cannot be written", path);
	json_decref(all);
}
