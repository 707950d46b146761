/* The picture of who waits for whom: where its boxes and arrows go, also where they go in circles, and that it is XML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph.h"

/* "a>b" is a ticket of a's for what b holds. */
struct sketch {
	struct graph_edge edges[32];
	char names[32][2][16];
	size_t count;
	struct graph_layout layout;
};

static void sketch_make(struct sketch *it, const char *text)
{
	int used;

	*it = (struct sketch){ .count = 0 };
	for (; sscanf(text, " %15[^> ]>%15[^ ]%n", it->names[it->count][0], it->names[it->count][1], &used) == 2;
	     text += used) {
		it->edges[it->count] = (struct graph_edge){ .lock = (char *)(uintptr_t) "custom/x",
							    .waiter = it->names[it->count][0],
							    .holder = it->names[it->count][1],
							    .priority = (char *)(uintptr_t) "normal",
							    .position = 1 };
		it->count++;
	}
	assert_int_equal(graph_layout(&it->layout, it->edges, it->count), 0);
}

static const struct graph_node *node(const struct sketch *it, const char *name)
{
	for (size_t i = 0; i < it->layout.count; i++)
		if (strcmp(it->layout.nodes[i].name, name) == 0)
			return &it->layout.nodes[i];
	fail_msg("there is no %s", name);
	return NULL;
}

/* Each arrow but those back leads to a column further right; the back ones are all of circles; nothing is above another. */
static void sketch_check(const struct graph_layout *layout)
{
	for (size_t i = 0; i < layout->edges; i++) {
		const struct graph_arrow *arrow = &layout->arrows[i];

		assert_true(arrow->circle || !arrow->back);
		assert_int_equal(arrow->back, layout->nodes[arrow->from].layer <= layout->nodes[arrow->to].layer);
		assert_true(arrow->row < layout->nodes[arrow->from].tickets);
		assert_int_equal(layout->out[layout->nodes[arrow->from].first + arrow->row], i);
	}
	for (size_t i = 0; i < layout->count; i++) {
		const struct graph_node *one = &layout->nodes[i];

		assert_true(one->y >= 0 && graph_node_bottom(one) <= layout->height && one->layer < layout->layers);
		for (size_t j = 0; j < i; j++) {
			const struct graph_node *other = &layout->nodes[j];

			if (one->layer == other->layer)
				assert_true(one->y >= graph_node_bottom(other) + 2 * GRAPH_ROW ||
					    other->y >= graph_node_bottom(one) + 2 * GRAPH_ROW);
		}
	}
}

static void test_waiters_stand_before_holders(void **state)
{
	struct sketch it;

	(void)state;
	sketch_make(&it, "b>a c>b d>b d>a e>d");
	sketch_check(&it.layout);
	assert_int_equal(it.layout.layers, 4);
	assert_int_equal(node(&it, "a")->layer, 0);
	assert_int_equal(node(&it, "b")->layer, 1);
	assert_int_equal(node(&it, "c")->layer, 2);
	assert_int_equal(node(&it, "d")->layer, 2);
	assert_int_equal(node(&it, "e")->layer, 3);
	assert_int_equal(node(&it, "d")->tickets, 2);
	/* d's arrow to a passes b's column, and not through b. */
	assert_int_equal(it.layout.bend_count, 1);
	assert_true(abs(it.layout.bends[0] - node(&it, "b")->y) >= GRAPH_ROW);
	assert_int_equal(it.layout.circles, 0);
	assert_int_equal(it.layout.backs, 0);
	graph_layout_free(&it.layout);
}

static void test_circles_are_found(void **state)
{
	static const struct {
		const char *edges;
		const char *in; /* letters of the nodes that are in circles */
		size_t circles;
	} cases[] = {
		{ "a>b b>a", "ab", 1 },
		{ "a>b b>c c>a", "abc", 1 },
		{ "a>a", "a", 1 },
		{ "w>a a>b b>a b>h", "ab", 1 },           /* one waits for it, and it for one */
		{ "a>b a>b b>a", "ab", 1 },               /* two locks of the same holder */
		{ "a>b b>a b>c c>b", "abc", 1 },          /* two that share b are one */
		{ "a>b b>a b>m m>c c>d d>c", "abcd", 2 }, /* m only stands between two */
		{ "a>b c>b d>c", "", 0 },                 /* two ways to one */
		{ "a>b a>c b>d c>d", "", 0 },             /* and to one by two */
		{ "a>b b>c c>d d>e e>f f>a x>c", "abcdef", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sketch it;

		sketch_make(&it, cases[i].edges);
		sketch_check(&it.layout);
		assert_int_equal(it.layout.circles, cases[i].circles);
		assert_int_equal(it.layout.backs > 0, cases[i].circles > 0);
		for (size_t n = 0; n < it.layout.count; n++)
			assert_int_equal(it.layout.nodes[n].circle != 0,
					 strchr(cases[i].in, it.layout.nodes[n].name[0]) != NULL);
		graph_layout_free(&it.layout);
	}
}

/* A crowd before one lock, and a chain as long: neither takes long nor deep. */
static void test_large_graphs(void **state)
{
	const size_t count = 20000;
	struct graph_edge *edges = calloc(count, sizeof(*edges));
	char(*names)[16] = calloc(count + 1, sizeof(*names));
	struct graph_layout layout;

	(void)state;
	assert_true(edges != NULL && names != NULL);
	for (size_t i = 0; i <= count; i++)
		snprintf(names[i], sizeof(names[i]), "n%zu", i);
	for (int chain = 0; chain < 2; chain++) {
		for (size_t i = 0; i < count; i++)
			edges[i] = (struct graph_edge){ .waiter = names[i + 1], .holder = names[chain ? i : 0] };
		assert_int_equal(graph_layout(&layout, edges, count), 0);
		assert_int_equal(layout.count, count + 1);
		assert_int_equal(layout.layers, chain ? count + 1 : 2);
		graph_layout_free(&layout);
	}
	free(edges);
	free(names);
}

static bool is_xml(const struct graph_edge *edges, size_t count)
{
	char *const args[] = { "xmllint", "--noout", "/dev/stdin", NULL };
	FILE *file = tmpfile();
	int status = -1;
	pid_t pid;

	assert_non_null(file);
	assert_int_equal(graph_svg(file, edges, count), 0);
	rewind(file);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(file), STDIN_FILENO);
		execvp(args[0], args);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	fclose(file);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_svg_is_xml(void **state)
{
	static const char *const sketches[] = { "",        "b>a", "b>a c>b d>b d>a e>d",
						"a>b b>a", "a>a", "w>a a>b b>c c>a b>a" };
	static char awkward[] = "<&\"'>]]>\x01\x7f\t\xef\xbf\xbf\xef\xbf\xbe\xc3\xa4\xf0\x9f\x94\x92";
	static char longest[4097];
	struct sketch it;

	(void)state;
	for (size_t i = 0; i < sizeof(sketches) / sizeof(sketches[0]); i++) {
		sketch_make(&it, sketches[i]);
		assert_true(is_xml(it.edges, it.count));
		graph_layout_free(&it.layout);
	}
	sketch_make(&it, "a>b c>b");
	it.edges[0].lock = it.edges[0].waiter = it.edges[0].priority = awkward;
	for (size_t i = 0; i + 1 < sizeof(longest); i++)
		longest[i] = "\xc3\xa4"[i % 2];
	it.edges[1].lock = it.edges[1].holder = longest;
	assert_true(is_xml(it.edges, it.count));
	graph_layout_free(&it.layout);
}

static char *svg_of(const struct sketch *it)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(graph_svg(out, it->edges, it->count), 0);
	fclose(out);
	return text;
}

static void test_svg_says_it(void **state)
{
	struct sketch it;
	char *text;

	(void)state;
	sketch_make(&it, "");
	text = svg_of(&it);
	assert_non_null(strstr(text, ">No lock is waited for</text>"));
	free(text);

	sketch_make(&it, "b>a c>a");
	it.edges[1].lock = (char *)(uintptr_t) "custom/<db>";
	it.edges[1].priority = (char *)(uintptr_t) "high";
	it.edges[1].position = 7;
	text = svg_of(&it);
	assert_non_null(strstr(text, ">2 wait</text>"));
	assert_non_null(strstr(text, "<title>c waits for custom/&lt;db&gt; of a</title>"));
	assert_non_null(strstr(text, ">custom/&lt;db&gt;<tspan"));
	assert_non_null(strstr(text, ">  #7 high</tspan>"));
	assert_null(strstr(text, "class=\"arrow circle\""));
	free(text);
	graph_layout_free(&it.layout);

	sketch_make(&it, "a>b b>a");
	text = svg_of(&it);
	assert_non_null(strstr(text, "in a circle</text>"));
	assert_non_null(strstr(text, "class=\"arrow circle\""));
	free(text);
	graph_layout_free(&it.layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiters_stand_before_holders),
		cmocka_unit_test(test_circles_are_found),
		cmocka_unit_test(test_large_graphs),
		cmocka_unit_test(test_svg_is_xml),
		cmocka_unit_test(test_svg_says_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
