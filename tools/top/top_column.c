#include "top_column.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "moment.h"

/* --- Cells --- */

static const void *cell_field(const struct top_column *column, const struct top_row *row)
{
	return (const char *)row + column->field;
}

static const char *cell_text(const struct top_column *column, const struct top_row *row)
{
	return *(const char *const *)cell_field(column, row);
}

/* What a cell is sorted by, unless it is a text. */
static int64_t cell_number(const struct top_column *column, const struct top_row *row)
{
	if (column->type == TOP_PRIORITY)
		return (int64_t) * (const enum atlock_priority *)cell_field(column, row);
	return *(const int64_t *)cell_field(column, row);
}

void top_column_print(const struct top_column *column, const struct top_row *row, int64_t now, char *out, size_t len)
{
	int64_t number = column->type == TOP_TEXT ? 0 : cell_number(column, row);
	char age[MOMENT_AGE_MAX];

	switch (column->type) {
	case TOP_TEXT: (void)strlcpy(out, cell_text(column, row), len); break;
	case TOP_COUNT: (void)snprintf(out, len, "%" PRId64, number); break;
	case TOP_PULL:
		out[0] = '\0';
		if (number != 0)
			(void)snprintf(out, len, "#%" PRId64, number);
		break;
	case TOP_PRIORITY: (void)strlcpy(out, atlock_priority_name((enum atlock_priority)number), len); break;
	case TOP_SINCE:
	case TOP_UNTIL:
		if (number != ATLOCK_NEVER)
			number = column->type == TOP_SINCE ? now - number : number - now;
		moment_age(number, age);
		(void)strlcpy(out, age, len);
	}
}

/* --- Order --- */

/* A time since when is compared as an age. */
static int cell_order(const struct top_column *column, const struct top_row *a, const struct top_row *b)
{
	int64_t left;
	int64_t right;

	if (column->type == TOP_TEXT)
		return strcmp(cell_text(column, a), cell_text(column, b));
	left = cell_number(column, column->type == TOP_SINCE ? b : a);
	right = cell_number(column, column->type == TOP_SINCE ? a : b);
	return (left > right) - (left < right);
}

int top_column_order(const struct top_column *column, bool reverse, const struct top_row *a, const struct top_row *b)
{
	int order = cell_order(column, a, b);

	if (order != 0)
		return column->descending != reverse ? -order : order;
	order = strcmp(a->lock, b->lock);
	return order != 0 ? order : (a->position > b->position) - (a->position < b->position);
}

/* --- Urgency --- */

#define ENDS_SOON (60 * ATLOCK_SECOND)

enum term_color top_column_tone(const struct top_column *column, const struct top_row *row, int64_t now)
{
	bool hurry = column->type == TOP_UNTIL && row->until != ATLOCK_NEVER && row->until - now < ENDS_SOON;
	bool urgent = column->type == TOP_PRIORITY && row->priority == ATLOCK_CRITICAL;
	bool high = column->type == TOP_PRIORITY && row->priority == ATLOCK_HIGH;
	bool waited = column->field == offsetof(struct top_row, waiters) && row->waiters > 0;

	return hurry || urgent ? TERM_RED : high || waited ? TERM_YELLOW : TERM_PLAIN;
}

/* --- The tables --- */

#define FIELD(name) offsetof(struct top_row, name)

static const struct top_column lock_columns[] = {
	{ "LOCK", 15, 40, 0, FIELD(lock), 0, TOP_CUT_FRONT, TOP_TEXT, false, false },
	{ "WHO", 10, 24, 15, FIELD(who), 1, TOP_CUT_END, TOP_TEXT, false, false },
	{ "OWNER", 8, 12, 22, FIELD(owner), 5, TOP_CUT_END, TOP_TEXT, false, false },
	{ "HELD", 6, 7, 15, FIELD(since), 3, TOP_CUT_END, TOP_SINCE, true, true },
	{ "LEFT", 6, 7, 15, FIELD(until), 2, TOP_CUT_END, TOP_UNTIL, true, false },
	{ "WAIT", 5, 5, 18, FIELD(waiters), 4, TOP_CUT_END, TOP_COUNT, true, true },
	{ "PULL", 6, 8, 26, FIELD(pull), 6, TOP_CUT_END, TOP_PULL, true, true },
	{ "REASON", 16, 40, 40, FIELD(reason), 7, TOP_CUT_END, TOP_TEXT, false, false },
};

static const struct top_column queue_columns[] = {
	{ "LOCK", 14, 40, 0, FIELD(lock), 0, TOP_CUT_FRONT, TOP_TEXT, false, false },
	{ "POS", 4, 5, 14, FIELD(position), 3, TOP_CUT_END, TOP_COUNT, true, false },
	{ "PRIORITY", 8, 8, 14, FIELD(priority), 1, TOP_CUT_END, TOP_PRIORITY, false, true },
	{ "WHO", 10, 24, 14, FIELD(who), 2, TOP_CUT_END, TOP_TEXT, false, false },
	{ "OWNER", 8, 12, 22, FIELD(owner), 5, TOP_CUT_END, TOP_TEXT, false, false },
	{ "WAITED", 6, 7, 16, FIELD(since), 4, TOP_CUT_END, TOP_SINCE, true, true },
	{ "LEFT", 6, 7, 30, FIELD(until), 7, TOP_CUT_END, TOP_UNTIL, true, false },
	{ "TICKET", 6, 10, 26, FIELD(ticket), 6, TOP_CUT_END, TOP_COUNT, true, false },
};

const struct top_column *top_column(enum top_view view, size_t i)
{
	static const struct {
		const struct top_column *columns;
		size_t count;
	} views[TOP_VIEWS] = {
		[TOP_LOCKS] = { lock_columns, sizeof(lock_columns) / sizeof(lock_columns[0]) },
		[TOP_QUEUE] = { queue_columns, sizeof(queue_columns) / sizeof(queue_columns[0]) },
	};

	return i < views[view].count ? &views[view].columns[i] : NULL;
}

size_t top_column_find(enum top_view view, const char *name)
{
	const struct top_column *column;

	for (size_t i = 0; (column = top_column(view, i)) != NULL; i++)
		if (strcasecmp(column->name, name) == 0)
			return i;
	return TOP_COLUMNS;
}

/* --- Room --- */

static size_t column_of_rank(enum top_view view, unsigned int rank)
{
	size_t i = 0;

	while (i < TOP_COLUMNS && top_column(view, i)->rank != rank)
		i++;
	return i;
}

/* First each column gets its least width, by rank; then up to its most; the first column gets the rest. */
void top_column_fit(enum top_view view, size_t width, size_t widths[TOP_COLUMNS])
{
	size_t left = width;

	memset(widths, 0, TOP_COLUMNS * sizeof(*widths));
	for (unsigned int rank = 0; rank < TOP_COLUMNS; rank++) {
		size_t i = column_of_rank(view, rank);
		size_t wanted = top_column(view, i)->width + (rank > 0);
		size_t kept = top_column(view, i)->first > widths[0] ? top_column(view, i)->first - widths[0] : 0;

		if (rank > 0 && wanted + kept > left)
			break;
		wanted = wanted < left ? wanted : left;
		widths[i] = wanted - (rank > 0);
		left -= wanted;
	}
	for (unsigned int rank = 0; rank < TOP_COLUMNS; rank++) {
		size_t i = column_of_rank(view, rank);
		size_t more = widths[i] == 0 ? 0 : top_column(view, i)->most - widths[i];

		more = more < left ? more : left;
		widths[i] += more;
		left -= more;
	}
	widths[0] += left;
}
