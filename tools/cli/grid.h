/* Rows of cells: a table with a heading, or for programs lines with tabs between the cells. */
#ifndef TOOLS_GRID_H
#define TOOLS_GRID_H

#include <stdbool.h>
#include <stddef.h>

#define GRID_COLUMNS 8

struct grid {
	const char *const *heading;
	size_t columns;     /* at least one */
	unsigned int right; /* bit i: column i has numbers, which end below each other */
	unsigned int front; /* bit i: where column i is too narrow, the end of its texts is shown, as of paths */
	size_t most;        /* columns of the terminal that a table may have; 0: any number */
	size_t (*width)(const char *); /* of a text in columns of the terminal; NULL: term_width() */
	char **cells;                  /* row by row */
	size_t count;                  /* of cells */
	size_t room;
};

/* Adds a cell; as term_text() has it, with a blank for a tab. 0 or -ENOMEM. */
int grid_add(struct grid *grid, const char *cell);

/* Adds a row of them. */
int grid_row(struct grid *grid, const char *const *cells);

/* A table on a terminal, cut to its width unless `whole`, else lines with tabs; and a table in any case. */
void grid_print(struct grid *grid, bool whole);
void grid_table(const struct grid *grid);
void grid_free(struct grid *grid);

#endif
