/*
 * atlock graph: who waits for whom. A holder is owner and who; it waits for the holder of each lock that it has a ticket of. As
 * text, each holder that does not wait itself begins a tree of those that wait for it; what remains are circles.
 */
#include <getopt.h>
#include <string.h>

#include "choice.h"
#include "graph.h"
#include "look_commands.h"
#include "source.h"
#include "term.h"

struct graph {
	struct tool *tool;
	struct source_where where;
	int form; /* 'V': SVG, 'D': DOT, 0: text */
	struct graph_edges edges;
};

static bool waits(const struct graph *graph, const char *holder)
{
	for (size_t i = 0; i < graph->edges.count; i++)
		if (strcmp(graph->edges.list[i].waiter, holder) == 0)
			return true;
	return false;
}

/* --- Text --- */

static void waiters_print(struct graph *graph, const char *holder, int depth)
{
	for (size_t i = 0; i < graph->edges.count; i++) {
		struct graph_edge *edge = &graph->edges.list[i];

		if (edge->shown || strcmp(edge->holder, holder) != 0)
			continue;
		edge->shown = true;
		printf("%*s%s waits for %s (%s)\n", 2 * depth, "", term_text(edge->waiter), term_text(edge->lock),
		       edge->priority);
		waiters_print(graph, edge->waiter, depth + 1);
	}
}

static void trees_print(struct graph *graph)
{
	for (size_t i = 0; i < graph->edges.count; i++) {
		const struct graph_edge *edge = &graph->edges.list[i];

		if (edge->shown || waits(graph, edge->holder))
			continue;
		printf("%s%s%s\n", term_color(stdout, TERM_BOLD), term_text(edge->holder),
		       term_color(stdout, TERM_PLAIN));
		waiters_print(graph, edge->holder, 1);
	}
	for (size_t i = 0; i < graph->edges.count; i++) {
		const struct graph_edge *edge = &graph->edges.list[i];

		if (edge->shown)
			continue;
		printf("%s%s (in a circle)%s\n", term_color(stdout, TERM_RED), term_text(edge->holder),
		       term_color(stdout, TERM_PLAIN));
		waiters_print(graph, edge->holder, 1);
	}
}

/* --- DOT --- */

static void dot_quote(const char *text)
{
	putchar('"');
	for (text = term_text(text); *text != '\0'; text++)
		printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	putchar('"');
}

static void dot_print(const struct graph *graph)
{
	puts("digraph waits {\n\trankdir=LR;\n\tnode [shape=box];");
	for (size_t i = 0; i < graph->edges.count; i++) {
		const struct graph_edge *edge = &graph->edges.list[i];

		putchar('\t');
		dot_quote(edge->waiter);
		fputs(" -> ", stdout);
		dot_quote(edge->holder);
		fputs(" [label=", stdout);
		dot_quote(edge->lock);
		puts("];");
	}
	puts("}");
}

static int graph_print(struct graph *graph)
{
	if (graph->form == 'V')
		return graph_svg(stdout, graph->edges.list, graph->edges.count) == 0 ? EXIT_DONE
										     : tool_no_memory(graph->tool);
	if (graph->form == 'D')
		dot_print(graph);
	else
		trees_print(graph);
	return EXIT_DONE;
}

static int edge_take(void *arg, json_t *object)
{
	struct graph *graph = arg;

	return graph_edges_add(&graph->edges, object) == 0 ? EXIT_DONE : tool_no_memory(graph->tool);
}

static int option_take(void *arg, int letter)
{
	struct graph *graph = arg;

	if (letter != 'D' && letter != 'V')
		return source_option(&graph->where, letter);
	graph->form = letter;
	return -1;
}

int cmd_graph(struct tool *tool, int argc, char **argv)
{
	struct graph graph = { .tool = tool };
	struct source source;
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 0 }, option_take, &graph);

	if (code >= 0)
		return code;
	code = source_open(tool, &graph.where, &source);
	if (code != EXIT_DONE)
		return code;
	code = source_each(tool, &source, edge_take, &graph);
	if (code == EXIT_DONE)
		code = graph_print(&graph);
	graph_edges_free(&graph.edges);
	source_close(&source);
	return code;
}
