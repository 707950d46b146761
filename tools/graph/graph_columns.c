#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* What stands in a column: a box, or a bend of an arrow that passes. */
struct item {
	size_t layer;
	size_t node;  /* or SIZE_MAX: a bend */
	size_t arrow; /* of a bend */
	size_t place; /* in its column, from the top */
	double want;  /* where it would be best: the mean of what it is tied to */
	double sum;
	size_t ties;
	size_t number; /* keeps the order of equals */
};

struct work {
	struct graph_layout *out;
	struct item *items; /* the nodes, then the bends; */
	size_t count;
	size_t *columns; /* items, layer by layer; */
	size_t *starts;  /* where in `columns` each layer begins */
};

int graph_node_bottom(const struct graph_node *node)
{
	return node->y + (node->tickets == 0 ? 0 : (int)(node->tickets - 1) * GRAPH_ROW);
}

/* --- The order in each column --- */

/* What stands for an arrow in a layer that it reaches: a bend, or at its end the box. */
static struct item *item_at(const struct work *work, size_t number, size_t layer)
{
	const struct graph_layout *out = work->out;
	const struct graph_arrow *arrow = &out->arrows[number];

	if (layer == out->nodes[arrow->to].layer)
		return &work->items[arrow->to];
	return &work->items[out->count + arrow->bend + out->nodes[arrow->from].layer - 1 - layer];
}

static void bends_count(struct graph_layout *out)
{
	for (size_t i = 0; i < out->edges; i++) {
		struct graph_arrow *arrow = &out->arrows[i];
		size_t layers = out->nodes[arrow->from].layer;

		arrow->bend = out->bend_count;
		arrow->circle = out->nodes[arrow->from].circle != 0 &&
				out->nodes[arrow->from].circle == out->nodes[arrow->to].circle;
		out->backs += arrow->back;
		if (!arrow->back)
			out->bend_count += layers - out->nodes[arrow->to].layer - 1;
	}
}

static void items_make(struct work *work)
{
	const struct graph_layout *out = work->out;
	size_t n = 0;

	for (size_t i = 0; i < out->count; i++)
		work->items[n++] = (struct item){ .layer = out->nodes[i].layer, .node = i };
	for (size_t i = 0; i < out->edges; i++) {
		const struct graph_arrow *arrow = &out->arrows[i];

		if (arrow->back)
			continue;
		for (size_t layer = out->nodes[arrow->from].layer - 1; layer > out->nodes[arrow->to].layer; layer--)
			work->items[n++] = (struct item){ .layer = layer, .node = SIZE_MAX, .arrow = i };
	}
	for (size_t i = 0; i < n; i++) {
		work->items[i].number = i;
		work->starts[work->items[i].layer + 1]++;
	}
	for (size_t i = 0; i < out->layers; i++)
		work->starts[i + 1] += work->starts[i];
	for (size_t i = n; i-- > 0;)
		work->columns[--work->starts[work->items[i].layer + 1]] = i;
	/* starts[i + 1] is now where layer i begins: move them down by one. */
	memmove(work->starts, work->starts + 1, out->layers * sizeof(*work->starts));
	work->starts[out->layers] = n;
}

static int item_order(const void *a, const void *b, void *arg)
{
	const struct item *items = arg;
	const struct item *one = &items[*(const size_t *)a];
	const struct item *other = &items[*(const size_t *)b];

	if (one->want != other->want)
		return one->want < other->want ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

/* The mean place of what an item leads to: in this order fewer arrows cross. */
static void item_want(const struct work *work, struct item *item)
{
	const struct graph_layout *out = work->out;
	const struct graph_node *node;
	double sum = 0;
	size_t ties = 0;

	if (item->node == SIZE_MAX) {
		item->want = (double)item_at(work, item->arrow, item->layer - 1)->place;
		return;
	}
	node = &out->nodes[item->node];
	for (size_t i = 0; i < node->tickets; i++) {
		size_t arrow = out->out[node->first + i];

		if (out->arrows[arrow].back)
			continue;
		sum += (double)item_at(work, arrow, item->layer - 1)->place;
		ties++;
	}
	item->want = ties == 0 ? 0 : sum / (double)ties;
}

static void columns_order(struct work *work)
{
	for (size_t layer = 0; layer < work->out->layers; layer++) {
		size_t *column = work->columns + work->starts[layer];
		size_t n = work->starts[layer + 1] - work->starts[layer];

		if (layer > 0)
			for (size_t i = 0; i < n; i++)
				item_want(work, &work->items[column[i]]);
		qsort_r(column, n, sizeof(*column), item_order, work->items);
		for (size_t i = 0; i < n; i++)
			work->items[column[i]].place = i;
	}
}

/* A box's rows in the order of where they lead; those that go back leave it below the others. */
static int row_order(const void *a, const void *b, void *arg)
{
	const struct work *work = arg;
	size_t places[2];
	const size_t arrows[2] = { *(const size_t *)a, *(const size_t *)b };

	for (size_t i = 0; i < 2; i++) {
		const struct graph_arrow *arrow = &work->out->arrows[arrows[i]];

		places[i] = arrow->back ? SIZE_MAX
					: item_at(work, arrows[i], work->out->nodes[arrow->from].layer - 1)->place;
	}
	if (places[0] != places[1])
		return places[0] < places[1] ? -1 : 1;
	return arrows[0] < arrows[1] ? -1 : arrows[0] > arrows[1];
}

static void rows_order(struct work *work)
{
	const struct graph_layout *out = work->out;

	for (size_t i = 0; i < out->count; i++) {
		size_t *rows = out->out + out->nodes[i].first;

		qsort_r(rows, out->nodes[i].tickets, sizeof(*rows), row_order, work);
		for (size_t row = 0; row < out->nodes[i].tickets; row++)
			out->arrows[rows[row]].row = row;
	}
}

/* --- Heights --- */

static void tie(struct item *item, int y)
{
	item->sum += y;
	item->ties++;
}

/* Tells the items that this one leads to at which height it is. */
static void item_tie(const struct work *work, const struct item *item, int y)
{
	const struct graph_layout *out = work->out;
	const struct graph_node *node;

	if (item->node == SIZE_MAX) {
		tie(item_at(work, item->arrow, item->layer - 1), y);
		return;
	}
	node = &out->nodes[item->node];
	for (size_t i = 0; i < node->tickets; i++) {
		size_t arrow = out->out[node->first + i];

		if (!out->arrows[arrow].back)
			tie(item_at(work, arrow, item->layer - 1), y + (int)i * GRAPH_ROW);
	}
}

/* Puts each item beside the middle of those that lead to it, as far as the items above it leave space. */
static void column_place(struct work *work, size_t layer)
{
	struct graph_layout *out = work->out;
	int free_y = 0;

	for (size_t i = work->starts[layer]; i < work->starts[layer + 1]; i++) {
		const struct item *item = &work->items[work->columns[i]];
		bool bend = item->node == SIZE_MAX;
		size_t rows = bend || out->nodes[item->node].tickets == 0 ? 1 : out->nodes[item->node].tickets;
		int more = (int)(rows - 1) * GRAPH_ROW;
		int y = item->ties == 0 ? 0 : (int)(item->sum / (double)item->ties) - more / 2;

		if (y < free_y)
			y = free_y;
		if (bend)
			out->bends[item->number - out->count] = y;
		else
			out->nodes[item->node].y = y;
		item_tie(work, item, y);
		free_y = y + more + (bend ? GRAPH_ROW : 2 * GRAPH_ROW);
		if (y + more > out->height)
			out->height = y + more;
	}
}

int graph_columns(struct graph_layout *out)
{
	struct work work = { .out = out };
	int err = 0;

	bends_count(out);
	work.count = out->count + out->bend_count;
	out->bends = calloc(out->bend_count + 1, sizeof(*out->bends));
	work.items = calloc(work.count, sizeof(*work.items));
	work.columns = calloc(work.count, sizeof(*work.columns));
	work.starts = calloc(out->layers + 2, sizeof(*work.starts));
	if (out->bends == NULL || work.items == NULL || work.columns == NULL || work.starts == NULL) {
		err = -ENOMEM;
	} else {
		items_make(&work);
		columns_order(&work);
		rows_order(&work);
		for (size_t layer = out->layers; layer-- > 0;)
			column_place(&work, layer);
	}
	free(work.items);
	free(work.columns);
	free(work.starts);
	return err;
}
