/* The wait-for graph as a picture. Letters are all of one width, so that it is known how long a text will be. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "markup.h"
#include "term.h"

#define LETTER 7.3 /* pixels, of the font size below */
#define LETTERS 64 /* of a longer name the middle is left out */
#define MARGIN 24
#define TOP 72   /* for the heading */
#define PAD 12   /* between a box and its text */
#define CURVE 70 /* the space in which arrows change their row */
#define ROUND 10 /* the corners of those that go back */
#define HALF (GRAPH_ROW / 2)

struct column {
	int x;
	int box;   /* width of the boxes */
	int words; /* and of the text to the right of them */
};

struct drawing {
	FILE *out;
	const struct graph_edge *edges;
	struct graph_layout layout;
	struct column *columns; /* by layer */
	int width;
	int bottom; /* of what is not an arrow back */
	int height;
};

/* --- Text --- */

static int text_width(const char *text)
{
	size_t letters = term_width(text);

	return (int)((double)(letters > LETTERS ? LETTERS : letters) * LETTER) + 1;
}

/* "  #1 high": which place in the queue. */
static void place_print(const struct graph_edge *edge, char out[64])
{
	(void)snprintf(out, 64, "  #%" PRId64 " %s", edge->position, edge->priority);
}

/* --- Where columns are --- */

static void columns_measure(struct drawing *drawing)
{
	const struct graph_layout *layout = &drawing->layout;
	int x = MARGIN + (layout->backs > 0 ? CURVE : 0);
	char place[64];

	for (size_t i = 0; i < layout->count; i++) {
		const struct graph_node *node = &layout->nodes[i];
		struct column *column = &drawing->columns[node->layer];
		int width = text_width(node->name) + 2 * PAD;

		if (width > column->box)
			column->box = width;
	}
	for (size_t i = 0; i < layout->edges; i++) {
		struct column *column = &drawing->columns[layout->nodes[layout->arrows[i].from].layer];
		int width;

		place_print(&drawing->edges[i], place);
		width = text_width(drawing->edges[i].lock) + text_width(place) + PAD;
		if (width > column->words)
			column->words = width;
	}
	for (size_t layer = layout->layers; layer-- > 0;) {
		struct column *column = &drawing->columns[layer];

		column->x = x;
		x += column->box + column->words + (layer > 0 || layout->backs > 0 ? CURVE : 0);
	}
	drawing->width = x + MARGIN;
	drawing->bottom = TOP + layout->height + GRAPH_ROW;
	drawing->height = drawing->bottom + (int)layout->backs * HALF + MARGIN;
}

/* --- Arrows --- */

static int node_middle(const struct graph_node *node)
{
	return TOP + (node->y + graph_node_bottom(node)) / 2;
}

/* From where the words end in one column to the next. */
static void curve_put(const struct drawing *drawing, int x, int y, int to_x, int to_y)
{
	int middle = (x + to_x) / 2;

	fprintf(drawing->out, " H%d C%d,%d %d,%d %d,%d", x, middle, y, middle, to_y, to_x, to_y);
}

static void arrow_forth(const struct drawing *drawing, const struct graph_arrow *arrow, int y)
{
	const struct graph_layout *layout = &drawing->layout;
	size_t layer = layout->nodes[arrow->from].layer;
	size_t last = layout->nodes[arrow->to].layer;
	const int *bend = layout->bends + arrow->bend;

	for (; layer > last; layer--) {
		const struct column *column = &drawing->columns[layer];
		int to_y = layer - 1 == last ? node_middle(&layout->nodes[arrow->to]) : TOP + *bend++;

		curve_put(drawing, column->x + column->box + column->words, y, drawing->columns[layer - 1].x, to_y);
		y = to_y;
	}
}

/* An arrow back runs below everything and comes in from the left; each has a track of its own. */
static void arrow_back(const struct drawing *drawing, const struct graph_arrow *arrow, size_t number)
{
	const struct graph_layout *layout = &drawing->layout;
	const struct column *from = &drawing->columns[layout->nodes[arrow->from].layer];
	const struct column *to = &drawing->columns[layout->nodes[arrow->to].layer];
	int aside = ROUND + (int)(number % 5) * 8;
	int right = from->x + from->box + from->words + aside;
	int left = to->x - 2 * ROUND - aside;
	int below = drawing->bottom + (int)number * HALF;
	int to_y = node_middle(&layout->nodes[arrow->to]);

	fprintf(drawing->out, " H%d q%d,0 %d,%d V%d q0,%d -%d,%d", right - ROUND, ROUND, ROUND, ROUND, below - ROUND,
		ROUND, ROUND, ROUND);
	fprintf(drawing->out, " H%d q-%d,0 -%d,-%d V%d q0,-%d %d,-%d H%d", left + ROUND, ROUND, ROUND, ROUND,
		to_y + ROUND, ROUND, ROUND, ROUND, to->x);
}

static void arrow_draw(const struct drawing *drawing, size_t number, size_t *backs)
{
	const struct graph_arrow *arrow = &drawing->layout.arrows[number];
	const struct graph_edge *edge = &drawing->edges[number];
	const struct graph_node *node = &drawing->layout.nodes[arrow->from];
	const struct column *column = &drawing->columns[node->layer];
	int x = column->x + column->box;
	int y = TOP + node->y + (int)arrow->row * GRAPH_ROW;
	FILE *out = drawing->out;
	char place[64];

	fputs("<g><title>", out);
	markup_text(out, edge->waiter);
	fputs(" waits for ", out);
	markup_text(out, edge->lock);
	fputs(" of ", out);
	markup_text(out, edge->holder);
	fprintf(out, "</title>\n<path class=\"%s\" marker-end=\"url(#%s)\" d=\"M%d,%d",
		arrow->circle ? "arrow circle" : "arrow", arrow->circle ? "red" : "head", x, y);
	if (arrow->back)
		arrow_back(drawing, arrow, (*backs)++);
	else
		arrow_forth(drawing, arrow, y);
	fprintf(out, "\"/>\n<text x=\"%d\" y=\"%d\">", x + PAD / 2, y - 4);
	markup_clipped(out, edge->lock, LETTERS);
	place_print(edge, place);
	fputs("<tspan class=\"place\" xml:space=\"preserve\">", out);
	markup_text(out, place);
	fputs("</tspan></text></g>\n", out);
}

/* --- The rest --- */

static void box_draw(const struct drawing *drawing, const struct graph_node *node)
{
	const struct column *column = &drawing->columns[node->layer];
	FILE *out = drawing->out;

	fprintf(out, "<g><title>");
	markup_text(out, node->name);
	fprintf(out, "</title>\n<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n",
		node->circle != 0    ? "circle"
		: node->tickets == 0 ? "holder"
				     : "waiter",
		column->x, TOP + node->y - HALF - 2, column->box, graph_node_bottom(node) - node->y + GRAPH_ROW + 4);
	fprintf(out, "<text x=\"%d\" y=\"%d\">", column->x + PAD, node_middle(node) + 4);
	markup_clipped(out, node->name, LETTERS);
	fputs("</text></g>\n", out);
}

static void svg_begin(const struct drawing *drawing, const char *heading)
{
	static const char style[] =
		"<style>\n"
		"svg { background: #ffffff; }\n"
		"text { fill: #1f2328; } .place { fill: #656d76; } .title { font-size: 15px; font-weight: 600; }\n"
		"rect { fill: #f6f8fa; stroke: #656d76; } .holder { fill: #dafbe1; stroke: #2da44e; }\n"
		".arrow { fill: none; stroke: #656d76; } #head path { fill: #656d76; }\n"
		"rect.circle { fill: #ffebe9; stroke: #cf222e; }\n"
		".arrow.circle { stroke: #cf222e; stroke-width: 2; } #red path { fill: #cf222e; }\n"
		"@media (prefers-color-scheme: dark) {\n"
		"svg { background: #0d1117; }\n"
		"text { fill: #e6edf3; } .place { fill: #8d96a0; }\n"
		"rect { fill: #161b22; stroke: #8d96a0; } .holder { fill: #12261e; stroke: #3fb950; }\n"
		".arrow { stroke: #8d96a0; } #head path { fill: #8d96a0; }\n"
		"rect.circle { fill: #25171c; stroke: #f85149; }\n"
		".arrow.circle { stroke: #f85149; } #red path { fill: #f85149; }\n"
		"}\n"
		"</style>\n";
	static const char marker[] = "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"10\" "
				     "markerHeight=\"10\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
				     "<path d=\"M0,1 L9,5 L0,9 z\"/></marker>\n";

	fprintf(drawing->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
		"font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"12\">\n"
		"<title>Who waits for whom</title>\n%s<defs>\n",
		drawing->width, drawing->height, drawing->width, drawing->height, style);
	fprintf(drawing->out, marker, "head");
	fprintf(drawing->out, marker, "red");
	fprintf(drawing->out, "</defs>\n<text class=\"title\" x=\"%d\" y=\"30\">%s</text>\n", MARGIN, heading);
}

/* How many wait, and what is wrong. */
static void heading_print(const struct graph_layout *layout, char *out, size_t len)
{
	size_t waiting = 0;
	char circles[64] = "";

	for (size_t i = 0; i < layout->count; i++)
		waiting += layout->nodes[i].tickets > 0;
	if (layout->circles == 1)
		(void)snprintf(circles, sizeof(circles), ", some of them in a circle");
	else if (layout->circles > 1)
		(void)snprintf(circles, sizeof(circles), ", some of them in %zu circles", layout->circles);
	(void)snprintf(out, len, "%zu %s%s", waiting, waiting == 1 ? "waits" : "wait", circles);
}

static void graph_draw(struct drawing *drawing)
{
	const struct graph_layout *layout = &drawing->layout;
	char heading[128];
	size_t backs = 0;
	int least;

	heading_print(layout, heading, sizeof(heading));
	columns_measure(drawing);
	least = (int)(strlen(heading) * 10) + 2 * MARGIN;
	if (drawing->width < least)
		drawing->width = least;
	svg_begin(drawing, heading);
	for (size_t i = 0; i < layout->edges; i++)
		arrow_draw(drawing, i, &backs);
	for (size_t i = 0; i < layout->count; i++)
		box_draw(drawing, &layout->nodes[i]);
	fputs("</svg>\n", drawing->out);
}

int graph_svg(FILE *out, const struct graph_edge *edges, size_t count)
{
	struct drawing drawing = { .out = out, .edges = edges, .width = 240, .height = 48 };
	int err = 0;

	if (count == 0) {
		svg_begin(&drawing, "No lock is waited for");
		fputs("</svg>\n", out);
		return 0;
	}
	err = graph_layout(&drawing.layout, edges, count);
	if (err == 0) {
		drawing.columns = calloc(drawing.layout.layers, sizeof(*drawing.columns));
		err = drawing.columns == NULL ? -ENOMEM : 0;
	}
	if (err == 0)
		graph_draw(&drawing);
	free(drawing.columns);
	graph_layout_free(&drawing.layout);
	return err;
}
