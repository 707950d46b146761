#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "graph.h"

/* --- Nodes --- */

/* The number of the node of this name: a new one at the end of `out` if there is none. SIZE_MAX without memory. */
static size_t node_named(struct graph_layout *out, json_t *numbers, const char *name)
{
	const json_t *number = json_object_get(numbers, name);

	if (number != NULL)
		return (size_t)json_integer_value(number);
	if (json_object_set_new(numbers, name, json_integer((json_int_t)out->count)) != 0)
		return SIZE_MAX;
	out->nodes[out->count] = (struct graph_node){ .name = name };
	return out->count++;
}

static int nodes_make(struct graph_layout *out, const struct graph_edge *edges)
{
	json_t *numbers = json_object();
	size_t first = 0;
	int err = numbers == NULL ? -ENOMEM : 0;

	for (size_t i = 0; err == 0 && i < out->edges; i++) {
		struct graph_arrow *arrow = &out->arrows[i];

		arrow->to = node_named(out, numbers, edges[i].holder);
		arrow->from = arrow->to == SIZE_MAX ? SIZE_MAX : node_named(out, numbers, edges[i].waiter);
		if (arrow->from == SIZE_MAX)
			err = -ENOMEM;
		else
			out->nodes[arrow->from].tickets++;
	}
	json_decref(numbers);
	if (err != 0)
		return err;
	for (size_t i = 0; i < out->count; i++) {
		out->nodes[i].first = first;
		first += out->nodes[i].tickets;
		out->nodes[i].tickets = 0;
	}
	for (size_t i = 0; i < out->edges; i++) {
		struct graph_node *node = &out->nodes[out->arrows[i].from];

		out->out[node->first + node->tickets++] = i;
	}
	return 0;
}

/* --- Layers and circles: Tarjan's strongly connected components, without recursion since chains may be long --- */

struct visit {
	size_t order; /* from 1; 0 not visited */
	size_t low;
	size_t next; /* of its arrows */
	size_t parent;
	bool on_path;
	bool on_stack;
};

struct walk {
	struct graph_layout *out;
	struct visit *visits;
	size_t *stack;
	size_t depth;
	size_t order;
};

static void node_enter(struct walk *walk, size_t node, size_t parent)
{
	walk->order++;
	walk->visits[node] = (struct visit){
		.order = walk->order, .low = walk->order, .parent = parent, .on_path = true, .on_stack = true
	};
	walk->stack[walk->depth++] = node;
}

/* Everything it waits for is done: its layer is known, and with it whether it closes a circle. */
static void node_leave(struct walk *walk, size_t node)
{
	struct graph_layout *out = walk->out;
	struct visit *visit = &walk->visits[node];
	size_t members = 0;
	size_t member;
	bool alone = true;

	visit->on_path = false;
	for (size_t i = 0; i < out->nodes[node].tickets; i++) {
		const struct graph_arrow *arrow = &out->arrows[out->out[out->nodes[node].first + i]];

		alone = alone && arrow->to != node;
		if (!arrow->back && out->nodes[arrow->to].layer >= out->nodes[node].layer)
			out->nodes[node].layer = out->nodes[arrow->to].layer + 1;
	}
	if (out->nodes[node].layer >= out->layers)
		out->layers = out->nodes[node].layer + 1;
	if (visit->low != visit->order)
		return;
	do {
		member = walk->stack[--walk->depth];
		walk->visits[member].on_stack = false;
		out->nodes[member].circle = out->circles + 1;
		members++;
	} while (member != node);
	if (members == 1 && alone)
		out->nodes[node].circle = 0;
	else
		out->circles++;
}

static void low_take(struct visit *visit, size_t low)
{
	if (low < visit->low)
		visit->low = low;
}

static void walk_from(struct walk *walk, size_t root)
{
	struct graph_layout *out = walk->out;
	size_t node = root;

	node_enter(walk, root, SIZE_MAX);
	while (node != SIZE_MAX) {
		struct visit *visit = &walk->visits[node];
		struct graph_arrow *arrow;
		const struct visit *target;

		if (visit->next == out->nodes[node].tickets) {
			node_leave(walk, node);
			if (visit->parent != SIZE_MAX)
				low_take(&walk->visits[visit->parent], visit->low);
			node = visit->parent;
			continue;
		}
		arrow = &out->arrows[out->out[out->nodes[node].first + visit->next++]];
		target = &walk->visits[arrow->to];
		if (target->order == 0) {
			node_enter(walk, arrow->to, node);
			node = arrow->to;
			continue;
		}
		arrow->back = target->on_path;
		if (target->on_stack)
			low_take(visit, target->order);
	}
}

static int layers_make(struct graph_layout *out)
{
	struct walk walk = { .out = out };
	bool *waited_for = calloc(out->count, sizeof(*waited_for));
	int err = 0;

	walk.visits = calloc(out->count, sizeof(*walk.visits));
	walk.stack = calloc(out->count, sizeof(*walk.stack));
	if (waited_for == NULL || walk.visits == NULL || walk.stack == NULL) {
		err = -ENOMEM;
	} else {
		for (size_t i = 0; i < out->edges; i++)
			waited_for[out->arrows[i].to] = true;
		/* Begins with those that no holder waits for, so that what waits for a circle stands in front of it. */
		for (size_t i = 0; i < out->count; i++)
			if (!waited_for[i])
				walk_from(&walk, i);
		for (size_t i = 0; i < out->count; i++)
			if (walk.visits[i].order == 0)
				walk_from(&walk, i);
	}
	free(waited_for);
	free(walk.visits);
	free(walk.stack);
	return err;
}

int graph_layout(struct graph_layout *out, const struct graph_edge *edges, size_t count)
{
	int err;

	*out = (struct graph_layout){ .edges = count };
	if (count == 0)
		return 0;
	out->nodes = calloc(count, 2 * sizeof(*out->nodes));
	out->arrows = calloc(count, sizeof(*out->arrows));
	out->out = calloc(count, sizeof(*out->out));
	if (out->nodes == NULL || out->arrows == NULL || out->out == NULL)
		return -ENOMEM;
	err = nodes_make(out, edges);
	if (err == 0)
		err = layers_make(out);
	return err == 0 ? graph_columns(out) : err;
}

void graph_layout_free(struct graph_layout *layout)
{
	free(layout->nodes);
	free(layout->arrows);
	free(layout->out);
	free(layout->bends);
	*layout = (struct graph_layout){ .count = 0 };
}
