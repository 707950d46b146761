#include "grid.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "term.h"

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

static void row_print(const struct grid *grid, const char *const *row, const size_t widths[GRID_COLUMNS])
{
	for (size_t i = 0; i < grid->columns; i++) {
		int pad = (int)(widths[i] - width_of(grid, row[i]));
		bool right = (grid->right >> i & 1) != 0;
		bool last = i + 1 == grid->columns;

		printf("%*s%s%*s", right ? pad : 0, "", row[i], last ? 0 : right ? 2 : pad + 2, "");
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
	fputs(term_color(stdout, TERM_BOLD), stdout);
	row_print(grid, grid->heading, widths);
	puts(term_color(stdout, TERM_PLAIN));
	for (size_t row = 0; row + grid->columns <= grid->count; row += grid->columns) {
		row_print(grid, (const char *const *)grid->cells + row, widths);
		putchar('\n');
	}
}

void grid_print(const struct grid *grid)
{
	if (isatty(STDOUT_FILENO)) {
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
