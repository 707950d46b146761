/* Rows of cells: on a terminal a table with a heading, elsewhere lines with tabs between the cells. */
#ifndef TOOLS_GRID_H
#define TOOLS_GRID_H

#include <stddef.h>

#define GRID_COLUMNS 8

struct grid {
	const char *const *heading;
	size_t columns; /* at least one */
	char **cells;   /* row by row */
	size_t count;   /* of cells */
	size_t room;
};

/* Adds a cell; as term_text() has it, with a blank for a tab. 0 or -ENOMEM. */
int grid_add(struct grid *grid, const char *cell);
void grid_print(const struct grid *grid);
void grid_free(struct grid *grid);

#endif
