#include "grid.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"
#include "term.h"

#define GAP 2    /* between columns */
#define NARROW 6 /* no column becomes narrower */

int grid_add(struct grid *grid, const char *cell)
{
	char **cells = tool_grow(grid->cells, grid->count, &grid->room, sizeof(*cells));
	char *copy;
	char *text;

	if (cells == NULL)
		return -ENOMEM;
	grid->cells = cells;
	text = strdup(cell);
	if (text == NULL)
		return -ENOMEM;
	for (char *tab = text; (tab = strchr(tab, '\t')) != NULL;)
		*tab = ' ';
	copy = strdup(term_text(text));
	free(text);
	if (copy == NULL)
		return -ENOMEM;
	grid->cells[grid->count++] = copy;
	return 0;
}

int grid_row(struct grid *grid, const char *const *cells)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < grid->columns; i++)
		err = grid_add(grid, cells[i]);
	return err;
}

static size_t width_of(const struct grid *grid, const char *text)
{
	return grid->width == NULL ? term_width(text) : grid->width(text);
}

static const char *character_next(const char *text)
{
	do
		text++;
	while (((unsigned char)*text & 0xc0) == 0x80);
	return text;
}

/* Prints what fits of a text; '~' stands for the rest of it. */
static void cell_print(const struct grid *grid, const char *text, size_t width, bool front)
{
	const char *end = text + strlen(text);

	if (width_of(grid, text) <= width) {
		fputs(text, stdout);
		return;
	}
	while (front && *text != '\0' && width_of(grid, text) + 1 > width)
		text = character_next(text);
	if (!front) {
		end = text;
		for (size_t n = 1; n < width; n++)
			end = character_next(end);
	}
	printf("%s%.*s%s", front ? "~" : "", (int)(end - text), text, front ? "" : "~");
}

static void row_print(const struct grid *grid, const char *const *row, const size_t widths[GRID_COLUMNS])
{
	for (size_t i = 0; i < grid->columns; i++) {
		size_t width = width_of(grid, row[i]);
		int pad = width < widths[i] ? (int)(widths[i] - width) : 0;
		bool right = (grid->right >> i & 1) != 0;
		bool last = i + 1 == grid->columns;

		if (right)
			printf("%*s", pad, "");
		cell_print(grid, row[i], widths[i], (grid->front >> i & 1) != 0);
		printf("%*s", last ? 0 : right ? GAP : pad + GAP, "");
	}
}

/* Takes columns from the widest, until all of them fit or none is left to take from. */
static void widths_fit(const struct grid *grid, size_t widths[GRID_COLUMNS])
{
	size_t sum = (grid->columns - 1) * GAP;

	for (size_t i = 0; i < grid->columns; i++)
		sum += widths[i];
	while (grid->most > 0 && sum > grid->most) {
		size_t widest = 0;

		for (size_t i = 1; i < grid->columns; i++)
			if (widths[i] > widths[widest])
				widest = i;
		if (widths[widest] <= NARROW)
			return;
		widths[widest]--;
		sum--;
	}
}

void grid_table(const struct grid *grid)
{
	size_t widths[GRID_COLUMNS] = { 0 };

	for (size_t i = 0; i < grid->columns; i++)
		widths[i] = width_of(grid, grid->heading[i]);
	for (size_t row = 0; row + grid->columns <= grid->count; row += grid->columns)
		for (size_t i = 0; i < grid->columns; i++)
			if (width_of(grid, grid->cells[row + i]) > widths[i])
				widths[i] = width_of(grid, grid->cells[row + i]);
	widths_fit(grid, widths);
	fputs(term_color(stdout, TERM_BOLD), stdout);
	row_print(grid, grid->heading, widths);
	puts(term_color(stdout, TERM_PLAIN));
	for (size_t row = 0; row + grid->columns <= grid->count; row += grid->columns) {
		row_print(grid, (const char *const *)grid->cells + row, widths);
		putchar('\n');
	}
}

void grid_print(struct grid *grid, bool whole)
{
	struct winsize size = { .ws_col = 0 };

	if (isatty(STDOUT_FILENO)) {
		if (!whole && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
			grid->most = size.ws_col;
		grid_table(grid);
		return;
	}
	for (size_t row = 0; row + grid->columns <= grid->count; row += grid->columns)
		for (size_t i = 0; i < grid->columns; i++)
			printf("%s%c", grid->cells[row + i], i + 1 == grid->columns ? '\n' : '\t');
}

void grid_free(struct grid *grid)
{
	for (size_t i = 0; i < grid->count; i++)
		free(grid->cells[i]);
	free(grid->cells);
	grid->cells = NULL;
	grid->count = grid->room = 0;
}
