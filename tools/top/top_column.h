/* The columns of the tables that atlock top shows: what stands in them, how they sort, and which have room. */
#ifndef TOOLS_TOP_COLUMN_H
#define TOOLS_TOP_COLUMN_H

#include "term.h"
#include "top_model.h"
#include "top_text.h"

#define TOP_COLUMNS 8

/* What a column shows: a text, the time since or until, a number, the number of a pull request, a priority. */
enum top_type { TOP_TEXT, TOP_SINCE, TOP_UNTIL, TOP_COUNT, TOP_PULL, TOP_PRIORITY };

struct top_column {
	const char *name;
	size_t width;      /* at least */
	size_t most;       /* and at most, while others are short of space */
	size_t first;      /* width that the first column must have before this one is shown */
	size_t field;      /* offset in struct top_row */
	unsigned int rank; /* on a narrow terminal, columns of a higher rank are left out first */
	enum top_cut cut;
	enum top_type type;
	bool right;      /* numbers */
	bool descending; /* the largest first, unless it is reversed */
};

/* The i-th column of a view, or NULL after the last. */
const struct top_column *top_column(enum top_view view, size_t i);

/* Writes the cell of a row; and tells in which colour, by how urgent it is. */
void top_column_print(const struct top_column *column, const struct top_row *row, int64_t now, char *out, size_t len);
enum term_color top_column_tone(const struct top_column *column, const struct top_row *row, int64_t now);

/* The number of the column with this name, in upper or lower case; or TOP_COLUMNS. */
size_t top_column_find(enum top_view view, const char *name);

/* How wide each is on a terminal so wide; 0: not shown. One column is left free between two. */
void top_column_fit(enum top_view view, size_t width, size_t widths[TOP_COLUMNS]);

/* Whether `a` comes before `b`, below 0, or after it: by the column, then by lock and place in its queue. */
int top_column_order(const struct top_column *column, bool reverse, const struct top_row *a, const struct top_row *b);

#endif
