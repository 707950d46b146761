#include "top_batch.h"

#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "moment.h"
#include "term.h"
#include "top_reader.h"

#define CELL_MAX ATLOCK_PATH_MAX
#define HEAD_WIDTH 512

static int table_print(const struct top_list *list)
{
	const char *heading[TOP_COLUMNS];
	struct grid grid = { .heading = heading, .columns = TOP_COLUMNS, .width = top_text_width };
	int64_t now = moment_wall();
	char fitted[CELL_MAX + 8];
	char cell[CELL_MAX];
	int err = 0;

	for (size_t i = 0; i < TOP_COLUMNS; i++) {
		heading[i] = top_column(list->view, i)->name;
		grid.right |= top_column(list->view, i)->right ? 1U << i : 0;
	}
	for (size_t row = 0; row < list->count; row++)
		for (size_t i = 0; err == 0 && i < TOP_COLUMNS; i++) {
			top_column_print(top_column(list->view, i), list->rows[row], now, cell, sizeof(cell));
			(void)top_text_fit(cell, CELL_MAX, TOP_CUT_END, fitted, sizeof(fitted));
			err = grid_add(&grid, fitted);
		}
	if (err == 0)
		grid_table(&grid);
	grid_free(&grid);
	return err;
}

static int once(struct top *top)
{
	static const atomic_bool stop;
	struct top_model *model = top_read(&top->mount, &top->filter, &stop);
	char head[TOP_HEAD_MAX];

	if (model == NULL || top_take(top, model) < 0)
		return tool_no_memory(top->tool);
	if (top->gone[0] != '\0')
		return tool_fail(top->tool, EXIT_UNAVAILABLE, "%s: %s", top->mount.path, top->gone);
	for (size_t i = 0; i < TOP_HEADS; i++) {
		top_head(top, i, HEAD_WIDTH, head);
		puts(head);
	}
	if (top_trouble(top)[0] != '\0')
		puts(term_text(top_trouble(top)));
	return table_print(&top->lists[top->view]) == 0 ? EXIT_DONE : tool_no_memory(top->tool);
}

int top_batch(struct top *top)
{
	int64_t due = moment_steady();
	int code = once(top);

	for (long i = 1; code == EXIT_DONE && i != top->iterations && fflush(stdout) == 0; i++) {
		struct timespec until;

		due += top->every;
		until = moment_timespec(due);
		while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL) != 0)
			;
		putchar('\n');
		code = once(top);
	}
	return code;
}
