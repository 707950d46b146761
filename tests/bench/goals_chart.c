/*
 * How far each figure is from its goal, as bars to both sides of it: a bar to the right is a goal met. The scale is
 * logarithmic, since twice as good and half as good are equally far away. Colours follow the reader's light or dark theme.
 */
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "goals.h"

#define WIDTH 1000
#define ROW 22
#define TOP 76
#define MIDDLE 680 /* where the goal is */
#define DOUBLE 52  /* from there to twice as good */
#define FARTHEST 4 /* doublings that are drawn */

static void text_put(FILE *file, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '&')
			(void)fputs("&amp;", file);
		else if (*text == '<')
			(void)fputs("&lt;", file);
		else if (*text != '`')
			(void)fputc(*text, file);
	}
}

static double place_of(double reach)
{
	return MIDDLE + DOUBLE * fmax(-FARTHEST, fmin(FARTHEST, log2(reach)));
}

static void grid_draw(FILE *file, unsigned int height)
{
	static const char *const marks[] = { "1/16", "1/8", "1/4", "1/2", "goal", "2×", "4×", "8×", "16×" };

	for (int i = -FARTHEST; i <= FARTHEST; i++) {
		int x = MIDDLE + i * DOUBLE;

		(void)fprintf(file, "<line class=\"%s\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%u\"/>\n",
			      i == 0 ? "goal" : "grid", x, TOP - 8, x, height - 12);
		(void)fprintf(file, "<text class=\"mark\" x=\"%d\" y=\"%d\">%s</text>\n", x, TOP - 14,
			      marks[i + FARTHEST]);
	}
}

static void bar_draw(FILE *file, const struct figure *figure, const struct series *series, int y)
{
	double median = series_median(series);
	double reach = figure_reach(figure, median);
	double from = fmin(place_of(reach), MIDDLE);
	double to = fmax(place_of(reach), MIDDLE);
	char text[NUMBER_TEXT];
	double ends[2] = { place_of(reach), place_of(reach) };

	for (size_t i = 0; i < series->count; i++) {
		double x = place_of(figure_reach(figure, series->sample[i]));

		ends[0] = fmin(ends[0], x);
		ends[1] = fmax(ends[1], x);
	}
	(void)fprintf(file, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"12\"/>\n",
		      reach >= 1 ? "met" : "missed", from, y - 10, fmax(to - from, 1));
	(void)fprintf(file, "<line class=\"spread\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", ends[0], y - 4,
		      ends[1], y - 4);
	(void)fprintf(file, "<text class=\"number\" x=\"%d\" y=\"%d\">%s</text>\n", WIDTH - 8, y,
		      number_unit(median, figure->unit, text));
}

static void label_draw(FILE *file, const struct figure *figure, int y)
{
	(void)fprintf(file, "<text class=\"mark\" x=\"24\" y=\"%d\">%s</text>\n<text x=\"48\" y=\"%d\">", y,
		      figure->number, y);
	text_put(file, figure->what);
	(void)fputs("</text>\n", file);
}

static void head_draw(FILE *file, unsigned int height, unsigned int repetitions)
{
	(void)fprintf(
		file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" height=\"%u\" "
		"font-family=\"system-ui, sans-serif\" font-size=\"12\">\n"
		"<style>\n"
		"svg { background: #ffffff; }\n"
		"text { fill: #1f2328; }\n"
		".number { text-anchor: end; } .mark { text-anchor: middle; fill: #656d76; }\n"
		".title { font-size: 15px; font-weight: 600; }\n"
		".grid { stroke: #d8dee4; } .goal { stroke: #1f2328; stroke-width: 1.5; }\n"
		".met { fill: #2da44e; } .missed { fill: #d4731b; } .spread { stroke: #1f2328; stroke-width: 1; }\n"
		"@media (prefers-color-scheme: dark) {\n"
		"svg { background: #0d1117; }\n"
		"text { fill: #e6edf3; } .mark { fill: #8d96a0; }\n"
		".grid { stroke: #30363d; } .goal, .spread { stroke: #e6edf3; }\n"
		"}\n"
		"</style>\n"
		"<text class=\"title\" x=\"12\" y=\"24\">How far each figure is from its goal</text>\n"
		"<text x=\"12\" y=\"44\">Right of the line: met. Thin lines: least to most of %u. %ld processors.</text>\n",
		WIDTH, height, WIDTH, height, repetitions, sysconf(_SC_NPROCESSORS_ONLN));
}

void goals_draw(const char *path, const struct repetition *done, unsigned int repetitions)
{
	FILE *file = fopen(path, "we");
	unsigned int rows = 0;
	unsigned int height;

	if (file == NULL)
		err(1, "%s", path);
	for (size_t i = 0; i < figures_count; i++)
		rows += figures[i].number[0] != '\0' && figure_series(&figures[i], done, repetitions).count > 0;
	height = TOP + rows * ROW + 20;
	head_draw(file, height, repetitions);
	grid_draw(file, height);
	rows = 0;
	for (size_t i = 0; i < figures_count; i++) {
		struct series series = figure_series(&figures[i], done, repetitions);

		if (figures[i].number[0] == '\0' || series.count == 0)
			continue;
		rows++;
		label_draw(file, &figures[i], (int)(TOP + rows * ROW));
		bar_draw(file, &figures[i], &series, (int)(TOP + rows * ROW));
	}
	(void)fputs("</svg>\n", file);
	if (fclose(file) != 0)
		err(1, "%s", path);
}
