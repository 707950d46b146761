#include "top_column.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "moment.h"

/* --- Cells --- */

static void lock_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	(void)strlcpy(out, row->lock, len);
}

static void who_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	(void)strlcpy(out, row->who, len);
}

static void owner_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	(void)strlcpy(out, row->owner, len);
}

static void reason_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	(void)strlcpy(out, row->reason, len);
}

static void since_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	char age[MOMENT_AGE_MAX];

	moment_age(row->since == ATLOCK_NEVER ? ATLOCK_NEVER : now - row->since, age);
	(void)strlcpy(out, age, len);
}

static void until_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	char age[MOMENT_AGE_MAX];

	moment_age(row->until == ATLOCK_NEVER ? ATLOCK_NEVER : row->until - now, age);
	(void)strlcpy(out, age, len);
}

static void waiters_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	(void)snprintf(out, len, "%" PRIu64, row->waiters);
}

static void pull_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	out[0] = '\0';
	if (row->pull != 0)
		(void)snprintf(out, len, "#%" PRId64, row->pull);
}

static void position_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	(void)snprintf(out, len, "%" PRIu64, row->position);
}

static void priority_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	(void)strlcpy(out, atlock_priority_name(row->priority), len);
}

static void ticket_print(const struct top_row *row, int64_t now, char *out, size_t len)
{
	(void)now;
	(void)snprintf(out, len, "%" PRIu64, row->ticket);
}

/* --- Order --- */

static int lock_order(const struct top_row *a, const struct top_row *b)
{
	return strcmp(a->lock, b->lock);
}

static int who_order(const struct top_row *a, const struct top_row *b)
{
	return strcmp(a->who, b->who);
}

static int owner_order(const struct top_row *a, const struct top_row *b)
{
	return strcmp(a->owner, b->owner);
}

static int reason_order(const struct top_row *a, const struct top_row *b)
{
	return strcmp(a->reason, b->reason);
}

/* By age: who came later is younger. */
static int since_order(const struct top_row *a, const struct top_row *b)
{
	return (a->since < b->since) - (a->since > b->since);
}

static int until_order(const struct top_row *a, const struct top_row *b)
{
	return (a->until > b->until) - (a->until < b->until);
}

static int waiters_order(const struct top_row *a, const struct top_row *b)
{
	return (a->waiters > b->waiters) - (a->waiters < b->waiters);
}

static int pull_order(const struct top_row *a, const struct top_row *b)
{
	return (a->pull > b->pull) - (a->pull < b->pull);
}

static int position_order(const struct top_row *a, const struct top_row *b)
{
	return (a->position > b->position) - (a->position < b->position);
}

static int priority_order(const struct top_row *a, const struct top_row *b)
{
	return (a->priority > b->priority) - (a->priority < b->priority);
}

static int ticket_order(const struct top_row *a, const struct top_row *b)
{
	return (a->ticket > b->ticket) - (a->ticket < b->ticket);
}

int top_column_order(const struct top_column *column, bool reverse, const struct top_row *a, const struct top_row *b)
{
	int order = column->compare(a, b);

	if (order != 0)
		return column->descending != reverse ? -order : order;
	order = lock_order(a, b);
	return order != 0 ? order : position_order(a, b);
}

/* --- Urgency --- */

#define ENDS_SOON (60 * ATLOCK_SECOND)

static enum term_color until_tone(const struct top_row *row, int64_t now)
{
	return row->until != ATLOCK_NEVER && row->until - now < ENDS_SOON ? TERM_RED : TERM_PLAIN;
}

static enum term_color waiters_tone(const struct top_row *row, int64_t now)
{
	(void)now;
	return row->waiters > 0 ? TERM_YELLOW : TERM_PLAIN;
}

static enum term_color priority_tone(const struct top_row *row, int64_t now)
{
	(void)now;
	if (row->priority == ATLOCK_CRITICAL)
		return TERM_RED;
	return row->priority == ATLOCK_HIGH ? TERM_YELLOW : TERM_PLAIN;
}

/* --- The tables --- */

static const struct top_column lock_columns[] = {
	{ "LOCK", 15, 40, 0, 0, TOP_CUT_FRONT, false, false, lock_print, lock_order, NULL },
	{ "WHO", 10, 24, 1, 15, TOP_CUT_END, false, false, who_print, who_order, NULL },
	{ "OWNER", 8, 12, 5, 22, TOP_CUT_END, false, false, owner_print, owner_order, NULL },
	{ "HELD", 6, 7, 3, 15, TOP_CUT_END, true, true, since_print, since_order, NULL },
	{ "LEFT", 6, 7, 2, 15, TOP_CUT_END, true, false, until_print, until_order, until_tone },
	{ "WAIT", 5, 5, 4, 18, TOP_CUT_END, true, true, waiters_print, waiters_order, waiters_tone },
	{ "PULL", 6, 8, 6, 26, TOP_CUT_END, true, true, pull_print, pull_order, NULL },
	{ "REASON", 16, 40, 7, 40, TOP_CUT_END, false, false, reason_print, reason_order, NULL },
};

static const struct top_column queue_columns[] = {
	{ "LOCK", 14, 40, 0, 0, TOP_CUT_FRONT, false, false, lock_print, lock_order, NULL },
	{ "POS", 4, 5, 3, 14, TOP_CUT_END, true, false, position_print, position_order, NULL },
	{ "PRIORITY", 8, 8, 1, 14, TOP_CUT_END, false, true, priority_print, priority_order, priority_tone },
	{ "WHO", 10, 24, 2, 14, TOP_CUT_END, false, false, who_print, who_order, NULL },
	{ "OWNER", 8, 12, 5, 22, TOP_CUT_END, false, false, owner_print, owner_order, NULL },
	{ "WAITED", 6, 7, 4, 16, TOP_CUT_END, true, true, since_print, since_order, NULL },
	{ "LEFT", 6, 7, 7, 30, TOP_CUT_END, true, false, until_print, until_order, until_tone },
	{ "TICKET", 6, 10, 6, 26, TOP_CUT_END, true, false, ticket_print, ticket_order, NULL },
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

/* First each gets what it needs, the more important ones first; then what it can use; what is left then is the first one's. */
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
