/*
 * What is shown of the rows of a model: those that match a text, in an order, with one of them chosen and a page that shows it.
 * The rows stay the model's.
 */
#ifndef TOOLS_TOP_LIST_H
#define TOOLS_TOP_LIST_H

#include "top_column.h"

#define TOP_FILTER_MAX 128

struct top_list {
	enum top_view view;
	size_t column; /* by which it is sorted */
	bool reverse;
	char filter[TOP_FILTER_MAX]; /* must be in the lock or the holder, however written; "": any */
	const struct top_row **rows;
	size_t count;
	size_t chosen; /* one of them, if there are any */
	size_t first;  /* the one at the top of the page */
};

void top_list_init(struct top_list *list, enum top_view view);
void top_list_clear(struct top_list *list);

/*
 * Rebuilds it, from another model or because a field above was changed. The chosen row stays chosen wherever it is now; if it is
 * gone, the row in its place is chosen. The model that it was built from before must still exist. 0, or -ENOMEM and it is empty.
 */
int top_list_update(struct top_list *list, const struct top_model *model);

/* Chooses another row, so many further; and sees to it that a page of so many rows shows the chosen one. */
void top_list_move(struct top_list *list, long by);
void top_list_page(struct top_list *list, size_t rows);

/* NULL if there is none. */
const struct top_row *top_list_chosen(const struct top_list *list);

#endif
