/*
 * The wait-for graph, and its layout as a picture.
 *
 * This room, graph/, knows who waits for whom, and how text stands in XML and HTML. It calls cli/ and client/, and knows no command.
 */
#ifndef TOOLS_GRAPH_H
#define TOOLS_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "source.h"

/* One ticket: its waiter, and the holder of its lock. */
struct graph_edge {
	char *lock;
	char *waiter; /* owner@who */
	char *holder;
	char *priority;
	int64_t position; /* in the queue, from 1 */
	bool shown;       /* for the command's use */
};

/* All tickets of a tree. Zeroed, it has none. */
struct graph_edges {
	struct graph_edge *list;
	size_t count;
	size_t room;
	json_t *holders; /* of locks that have a queue, by lock: owner@who */
};

/* Takes an object of locks.jsonl, where locks come before waiters: the holder of a waiter's lock is known. 0 or -ENOMEM. */
int graph_edges_add(struct graph_edges *edges, const json_t *object);
void graph_edges_free(struct graph_edges *edges);

/*
 * A layered drawing. Every holder is a box, in a column to the right of all who wait for it, and those who do not wait
 * are in the last. Each of a box's tickets leaves it on a row of its own, so that there is room for words beside it, and an
 * arrow that passes other columns has a place of its own there. Where holders wait in a circle, one of its arrows goes back.
 */
struct graph_node {
	const char *name; /* of an edge */
	size_t first;     /* of its tickets in layout.out */
	size_t tickets;
	size_t layer;  /* 0 is the last column */
	size_t circle; /* nodes that wait for each other have the same number; 0 none */
	int y;         /* the middle of its first row; the others follow GRAPH_ROW below each other */
};

struct graph_arrow {
	size_t from; /* nodes */
	size_t to;
	size_t row; /* of `from` */
	bool back;
	bool circle; /* it is a part of one */
	size_t bend; /* the first of its places between the columns, one for each layer between, in layout.bends */
};

struct graph_layout {
	struct graph_node *nodes;
	size_t count;
	struct graph_arrow *arrows; /* as the edges */
	size_t edges;
	size_t *out; /* arrows by the node they leave, in the order of their rows */
	size_t layers;
	int *bends; /* y */
	size_t bend_count;
	size_t backs;
	size_t circles;
	int height;
};

#define GRAPH_ROW 24

/* 0 or -ENOMEM. Refers to the edges' text. Free it in any case. */
int graph_layout(struct graph_layout *out, const struct graph_edge *edges, size_t count);
void graph_layout_free(struct graph_layout *layout);

/* The second half of it: with every node's layer known, what stands where in its column. 0 or -ENOMEM. */
int graph_columns(struct graph_layout *out);

/* The last row of a node. */
int graph_node_bottom(const struct graph_node *node);

/* Prints it as SVG, in UTF-8. 0 or -ENOMEM. */
int graph_svg(FILE *out, const struct graph_edge *edges, size_t count);

#endif
