/* atlock ls: what is held, all of it or what some filters leave. */
#include <getopt.h>
#include <unistd.h>

#include "choice.h"
#include "filter.h"
#include "grid.h"
#include "look_commands.h"
#include "moment.h"

struct ls {
	struct tool *tool;
	struct source source;
	struct source_where where;
	struct filter filter;
	bool json;
	bool watch;
	struct grid grid;
};

static const char *const heading[] = { "LOCK", "HOLDER", "HELD", "LEFT", "WAITERS", "REASON", "ID" };

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

static int ls_take(void *arg, json_t *lock)
{
	struct ls *ls = arg;

	if (source_is_waiter(lock) || !filter_wants(&ls->filter, lock))
		return EXIT_DONE;
	if (!ls->json)
		return row_add(&ls->grid, lock) < 0 ? tool_no_memory(ls->tool) : EXIT_DONE;
	source_print(lock);
	return EXIT_DONE;
}

static int ls_once(struct ls *ls)
{
	int code;

	ls->grid = (struct grid){ .heading = heading, .columns = sizeof(heading) / sizeof(heading[0]) };
	code = source_each(ls->tool, &ls->source, ls_take, ls);
	if (ls->watch && isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	if (code == EXIT_DONE && !ls->json)
		grid_print(&ls->grid);
	grid_free(&ls->grid);
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

static int option_take(void *arg, int letter)
{
	struct ls *ls = arg;

	switch (letter) {
	case 'j': ls->json = true; return -1;
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
