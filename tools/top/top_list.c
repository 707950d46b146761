#include "top_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void top_list_init(struct top_list *list, enum top_view view)
{
	*list = (struct top_list){ .view = view, .column = top_column_find(view, view == TOP_LOCKS ? "WAIT" : "LOCK") };
}

void top_list_clear(struct top_list *list)
{
	free(list->rows);
	list->rows = NULL;
	list->count = 0;
}

static bool row_matches(const struct top_list *list, const struct top_row *row)
{
	if (row->gone)
		return false;
	return list->filter[0] == '\0' || strcasestr(row->lock, list->filter) != NULL ||
	       strcasestr(row->owner, list->filter) != NULL || strcasestr(row->who, list->filter) != NULL;
}

/* A lock is the same while its name is; a ticket while its waiter is, since its number changes with its priority. */
static bool row_is_same(enum top_view view, const struct top_row *a, const struct top_row *b)
{
	return strcmp(a->lock, b->lock) == 0 &&
	       (view == TOP_LOCKS || (strcmp(a->owner, b->owner) == 0 && strcmp(a->who, b->who) == 0));
}

static int order(const void *a, const void *b, void *arg)
{
	const struct top_list *list = arg;
	const struct top_row *const *left = a;
	const struct top_row *const *right = b;

	return top_column_order(top_column(list->view, list->column), list->reverse, *left, *right);
}

int top_list_update(struct top_list *list, const struct top_model *model)
{
	const struct top_rows *all = &model->views[list->view];
	const struct top_row *chosen = top_list_chosen(list);
	const struct top_row **rows = all->count == 0 ? NULL : reallocarray(NULL, all->count, sizeof(*rows));
	size_t count = 0;

	if (all->count > 0 && rows == NULL) {
		top_list_clear(list);
		return -ENOMEM;
	}
	for (size_t i = 0; i < all->count; i++)
		if (row_matches(list, all->rows[i]))
			rows[count++] = all->rows[i];
	if (count > 0)
		qsort_r(rows, count, sizeof(*rows), order, list);
	for (size_t i = 0; chosen != NULL && i < count; i++)
		if (row_is_same(list->view, rows[i], chosen)) {
			list->chosen = i;
			chosen = NULL;
		}
	free(list->rows);
	list->rows = rows;
	list->count = count;
	top_list_move(list, 0);
	return 0;
}

void top_list_move(struct top_list *list, long by)
{
	size_t last = list->count == 0 ? 0 : list->count - 1;

	if (by < 0)
		list->chosen -= (size_t)-by < list->chosen ? (size_t)-by : list->chosen;
	else
		list->chosen = (size_t)by < last && list->chosen < last - (size_t)by ? list->chosen + (size_t)by : last;
}

void top_list_page(struct top_list *list, size_t rows)
{
	size_t most = list->count > rows ? list->count - rows : 0;

	if (rows == 0)
		return;
	if (list->chosen < list->first)
		list->first = list->chosen;
	if (list->chosen >= list->first + rows)
		list->first = list->chosen - rows + 1;
	if (list->first > most)
		list->first = most;
}

const struct top_row *top_list_chosen(const struct top_list *list)
{
	return list->chosen < list->count ? list->rows[list->chosen] : NULL;
}
