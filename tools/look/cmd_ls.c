/* atlock ls: what is held, all of it or what some filters leave. */
#include <getopt.h>
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
	bool all;         /* --long */
	const char *only; /* the field to print the values of; or NULL */
	json_t *values;   /* those that were printed */
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

static int ls_take(void *arg, json_t *lock)
{
	struct ls *ls = arg;

	if (source_is_waiter(lock) || !filter_wants(&ls->filter, lock))
		return EXIT_DONE;
	if (ls->only != NULL)
		return value_print(ls, lock);
	if (!ls->json)
		return row_add(&ls->grid, lock) < 0 ? tool_no_memory(ls->tool) : EXIT_DONE;
	source_print(lock);
	return EXIT_DONE;
}

static int ls_once(struct ls *ls)
{
	int code;

	ls->grid = (struct grid){ .heading = heading, .columns = HEADINGS, .front = 1 };
	if (isatty(STDOUT_FILENO) && !ls->all)
		ls->grid.columns--; /* ids are long, and few people want them */
	ls->values = json_object();
	code = source_each(ls->tool, &ls->source, ls_take, ls);
	if (ls->watch && isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	if (code == EXIT_DONE && !ls->json && ls->only == NULL)
		grid_print(&ls->grid, ls->all);
	grid_free(&ls->grid);
	json_decref(ls->values);
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

static int option_take(void *arg, int letter)
{
	struct ls *ls = arg;

	switch (letter) {
	case 'j': ls->json = true; return -1;
	case 'l': ls->all = true; return -1;
	case 'N': return only_take(ls);
	case 'A': ls->watch = true; return -1;
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
