#include "top_batch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "moment.h"
#include "term.h"
#include "top_reader.h"

#define CELL_MAX ATLOCK_PATH_MAX
#define HEAD_WIDTH 512

/* The text in one column's cell, harmless. */
static void cell_print(const struct top_list *list, size_t column, const struct top_row *row, int64_t now,
		       char out[CELL_MAX + 8])
{
	char cell[CELL_MAX];

	top_column(list->view, column)->print(row, now, cell, sizeof(cell));
	(void)top_text_fit(cell, CELL_MAX, TOP_CUT_END, out, CELL_MAX + 8);
}

static void padded(const char *text, size_t width, bool right, bool last)
{
	int pad = (int)(width - top_text_width(text));

	if (right)
		printf("%*s%s%s", pad, "", text, last ? "\n" : "  ");
	else
		printf("%s%*s", text, last ? 0 : pad + 2, "");
	if (!right && last)
		putchar('\n');
}

static void table_print(const struct top_list *list)
{
	size_t widths[TOP_COLUMNS];
	int64_t now = moment_wall();
	char text[CELL_MAX + 8];

	for (size_t i = 0; i < TOP_COLUMNS; i++) {
		widths[i] = strlen(top_column(list->view, i)->name);
		for (size_t row = 0; row < list->count; row++) {
			cell_print(list, i, list->rows[row], now, text);
			if (top_text_width(text) > widths[i])
				widths[i] = top_text_width(text);
		}
	}
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		padded(top_column(list->view, i)->name, widths[i], top_column(list->view, i)->right,
		       i + 1 == TOP_COLUMNS);
	for (size_t row = 0; row < list->count; row++)
		for (size_t i = 0; i < TOP_COLUMNS; i++) {
			cell_print(list, i, list->rows[row], now, text);
			padded(text, widths[i], top_column(list->view, i)->right, i + 1 == TOP_COLUMNS);
		}
}

static int once(struct top *top)
{
	static const atomic_bool stop;
	struct top_model *model = top_read(&top->mount, &top->filter, &stop);
	char head[TOP_HEAD_MAX];

	if (model == NULL || top_take(top, model) < 0)
		return tool_fail(top->tool, EXIT_SYSTEM, "out of memory");
	if (top->gone[0] != '\0')
		return tool_fail(top->tool, EXIT_UNAVAILABLE, "%s: %s", top->mount.path, top->gone);
	for (size_t i = 0; i < TOP_HEADS; i++) {
		top_head(top, i, HEAD_WIDTH, head);
		puts(head);
	}
	if (top_trouble(top)[0] != '\0')
		puts(term_text(top_trouble(top)));
	table_print(&top->lists[top->view]);
	return EXIT_DONE;
}

int top_batch(struct top *top)
{
	int64_t due = moment_steady();
	int code = once(top);

	for (long i = 1; code == EXIT_DONE && i != top->iterations && fflush(stdout) == 0; i++) {
		struct timespec until;

		due += top->every;
		until = (struct timespec){ .tv_sec = due / ATLOCK_SECOND, .tv_nsec = due % ATLOCK_SECOND };
		while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL) != 0)
			;
		putchar('\n');
		code = once(top);
	}
	return code;
}
