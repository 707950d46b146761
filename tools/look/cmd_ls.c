/* atlock ls: what is held, all of it or what some filters leave. */
#include <bsd/stdlib.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choice.h"
#include "filter.h"
#include "grid.h"
#include "look_commands.h"
#include "moment.h"
#include "term.h"

struct ls {
	struct tool *tool;
	struct source source;
	struct source_where where;
	struct filter filter;
	bool json;
	bool watch;
	bool all;                  /* --long */
	const char *only;          /* the field to print the values of; or NULL */
	json_t *values;            /* those that were printed */
	const char *type;          /* or NULL */
	const struct order *order; /* of --sort; NULL: as they come */
	json_t *kept;              /* locks to be sorted */
	uint64_t limit;            /* 0: none */
	uint64_t shown;
	struct grid grid;
};

static const char *const heading[] = { "LOCK", "HOLDER", "HELD", "LEFT", "WAITERS", "REASON", "ID" };
#define HEADINGS (sizeof(heading) / sizeof(heading[0]))

static int row_add(struct grid *grid, const json_t *lock)
{
	bool people = isatty(STDOUT_FILENO);
	int64_t until = source_time(lock, "expires_at");
	char holder[SOURCE_HOLDER_MAX];
	char held[MOMENT_AGE_MAX];
	char left[MOMENT_AGE_MAX];
	char waiters[24];
	const char *const cells[] = {
		source_text(lock, "lock"),
		holder,
		people ? held : source_text(lock, "acquired_at"),
		people ? left : source_text(lock, "expires_at"),
		waiters,
		source_text(json_object_get(lock, "meta"), "reason"),
		source_text(lock, "id"),
	};

	source_holder(lock, holder);
	(void)snprintf(waiters, sizeof(waiters), "%" JSON_INTEGER_FORMAT,
		       json_integer_value(json_object_get(lock, "waiters")));
	moment_age(moment_wall() - source_time(lock, "acquired_at"), held);
	moment_age(until == ATLOCK_NEVER ? until : until - moment_wall(), left);
	return grid_row(grid, cells);
}

/* --only: each value once. */
static int value_print(struct ls *ls, const json_t *lock)
{
	char number[24];
	const json_t *value = json_object_get(lock, ls->only);
	const char *text = json_string_value(value);

	if (json_is_integer(value) && json_integer_value(value) != 0) {
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		text = number;
	}
	if (text == NULL || text[0] == '\0' || json_object_get(ls->values, text) != NULL)
		return EXIT_DONE;
	if (json_object_set_new(ls->values, text, json_true()) != 0)
		return tool_no_memory(ls->tool);
	puts(term_text(text));
	return EXIT_DONE;
}

/* --- The order --- */

struct order {
	const char *name;
	const char *field;
	enum { BY_TEXT, BY_TIME, BY_MOST } by;
};

static const struct order orders[] = {
	{ "lock", "lock", BY_TEXT },       { "owner", "owner", BY_TEXT },      { "who", "who", BY_TEXT },
	{ "type", "type", BY_TEXT },       { "held", "acquired_at", BY_TIME }, { "left", "expires_at", BY_TIME },
	{ "waiters", "waiters", BY_MOST },
};

static int64_t number_of(const struct order *order, const json_t *lock)
{
	return order->by == BY_TIME ? source_time(lock, order->field)
				    : -json_integer_value(json_object_get(lock, order->field));
}

static int lock_order(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	const json_t *one = *(json_t *const *)a;
	const json_t *other = *(json_t *const *)b;
	int64_t first = order->by == BY_TEXT ? 0 : number_of(order, one);
	int64_t second = order->by == BY_TEXT ? 0 : number_of(order, other);
	int rc = order->by == BY_TEXT ? strcmp(source_text(one, order->field), source_text(other, order->field))
				      : (first > second) - (first < second);

	return rc != 0 ? rc : strcmp(source_text(one, "lock"), source_text(other, "lock"));
}

static int lock_show(struct ls *ls, const json_t *lock)
{
	if (ls->limit != 0 && ls->shown == ls->limit)
		return EXIT_DONE;
	ls->shown++;
	if (ls->only != NULL)
		return value_print(ls, lock);
	if (!ls->json)
		return row_add(&ls->grid, lock) < 0 ? tool_no_memory(ls->tool) : EXIT_DONE;
	source_print(lock);
	return EXIT_DONE;
}

static int ls_take(void *arg, json_t *lock)
{
	struct ls *ls = arg;

	if (source_is_waiter(lock) || !filter_wants(&ls->filter, lock) ||
	    (ls->type != NULL && strcmp(source_text(lock, "type"), ls->type) != 0))
		return EXIT_DONE;
	if (ls->order == NULL)
		return lock_show(ls, lock);
	return json_array_append(ls->kept, lock) < 0 ? tool_no_memory(ls->tool) : EXIT_DONE;
}

/* --sort: shows what was kept. */
static int kept_show(struct ls *ls)
{
	size_t count = json_array_size(ls->kept);
	json_t **locks = calloc(count + 1, sizeof(json_t *));
	int code = EXIT_DONE;

	if (locks == NULL)
		return tool_no_memory(ls->tool);
	for (size_t i = 0; i < count; i++)
		locks[i] = json_array_get(ls->kept, i);
	qsort_r(locks, count, sizeof(json_t *), lock_order, (void *)ls->order);
	for (size_t i = 0; i < count && code == EXIT_DONE; i++)
		code = lock_show(ls, locks[i]);
	free(locks);
	return code;
}

static int ls_once(struct ls *ls)
{
	int code;

	ls->grid = (struct grid){ .heading = heading, .columns = HEADINGS, .front = 1 };
	if (isatty(STDOUT_FILENO) && !ls->all)
		ls->grid.columns--; /* ids are long, and few people want them */
	ls->values = json_object();
	ls->kept = json_array();
	ls->shown = 0;
	code = source_each(ls->tool, &ls->source, ls_take, ls);
	if (ls->watch && isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	if (code == EXIT_DONE)
		code = kept_show(ls);
	if (code == EXIT_DONE && !ls->json && ls->only == NULL)
		grid_print(&ls->grid, ls->all);
	grid_free(&ls->grid);
	json_decref(ls->values);
	json_decref(ls->kept);
	return code;
}

/* Until ^C, or standard output is closed. */
static int ls_run(struct ls *ls)
{
	int code = ls_once(ls);

	while (ls->watch && code == EXIT_DONE && fflush(stdout) == 0) {
		moment_sleep(ATLOCK_SECOND);
		if (!isatty(STDOUT_FILENO))
			putchar('\n');
		code = ls_once(ls);
	}
	return code;
}

/* --- The words --- */

static int only_take(struct ls *ls)
{
	static const char *const fields[] = { "lock", "owner", "who", "repo", "pull" };

	ls->only = optarg;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i], optarg) == 0)
			return -1;
	return tool_usage(ls->tool, "--only is lock, owner, who, repo or pull, not \"%s\"", optarg);
}

static int order_take(struct ls *ls)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (strcmp(orders[i].name, optarg) == 0) {
			ls->order = &orders[i];
			return -1;
		}
	return tool_usage(ls->tool, "--sort is lock, owner, who, type, held, left or waiters, not \"%s\"", optarg);
}

static int limit_take(struct ls *ls)
{
	const char *bad = NULL;

	ls->limit = (uint64_t)strtonum(optarg, 1, INT64_MAX, &bad);
	return bad == NULL ? -1 : tool_usage(ls->tool, "--limit is a number from 1 on, not \"%s\"", optarg);
}

static int type_take(struct ls *ls)
{
	static const char *const types[] = { "project", "custom", "global", "shared" };

	ls->type = optarg;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i], optarg) == 0)
			return -1;
	return tool_usage(ls->tool, "--type is project, custom, global or shared, not \"%s\"", optarg);
}

static int option_take(void *arg, int letter)
{
	struct ls *ls = arg;

	switch (letter) {
	case 'j': ls->json = true; return -1;
	case 'l': ls->all = true; return -1;
	case 'N': return only_take(ls);
	case 'A': ls->watch = true; return -1;
	case 'L': return limit_take(ls);
	case 'R': return order_take(ls);
	case 'T': return type_take(ls);
	case 'S':
	case 'K': return source_option(&ls->where, letter);
	default: return filter_option(ls->tool, &ls->filter, letter);
	}
}

int cmd_ls(struct tool *tool, int argc, char **argv)
{
	struct ls ls = { .tool = tool };
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 1 }, option_take, &ls);

	if (code >= 0)
		return code;
	code = source_open(tool, &ls.where, &ls.source);
	if (code != EXIT_DONE)
		return code;
	code = filter_prefix(tool, &ls.filter, &ls.source.mount, argv[optind]);
	if (code == EXIT_DONE)
		code = ls_run(&ls);
	source_close(&ls.source);
	return code;
}
