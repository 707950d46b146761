/* atlock ls: what is held, all of it or what some filters leave. */
#include <getopt.h>
#include <time.h>
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
	char holder[ATLOCK_OWNER_MAX + ATLOCK_WHO_MAX + 2];
	char held[MOMENT_AGE_MAX];
	char left[MOMENT_AGE_MAX];
	char waiters[24];
	int err;

	(void)snprintf(holder, sizeof(holder), "%s@%s", source_text(lock, "owner"), source_text(lock, "who"));
	(void)snprintf(waiters, sizeof(waiters), "%" JSON_INTEGER_FORMAT,
		       json_integer_value(json_object_get(lock, "waiters")));
	moment_age(moment_wall() - source_time(lock, "acquired_at"), held);
	moment_age(until == ATLOCK_NEVER ? until : until - moment_wall(), left);
	err = grid_add(grid, source_text(lock, "lock"));
	err = err == 0 ? grid_add(grid, holder) : err;
	err = err == 0 ? grid_add(grid, people ? held : source_text(lock, "acquired_at")) : err;
	err = err == 0 ? grid_add(grid, people ? left : source_text(lock, "expires_at")) : err;
	err = err == 0 ? grid_add(grid, waiters) : err;
	err = err == 0 ? grid_add(grid, source_text(json_object_get(lock, "meta"), "reason")) : err;
	return err == 0 ? grid_add(grid, source_text(lock, "id")) : err;
}

static int ls_take(void *arg, json_t *lock)
{
	struct ls *ls = arg;

	if (source_is_waiter(lock) || !filter_wants(&ls->filter, lock))
		return EXIT_DONE;
	if (ls->json) {
		json_dumpf(lock, stdout, JSON_COMPACT);
		putchar('\n');
		return EXIT_DONE;
	}
	return row_add(&ls->grid, lock) < 0 ? tool_fail(ls->tool, EXIT_SYSTEM, "out of memory") : EXIT_DONE;
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
	const struct timespec pause = { .tv_sec = 1 };
	int code = ls_once(ls);

	while (ls->watch && code == EXIT_DONE && fflush(stdout) == 0) {
		nanosleep(&pause, NULL);
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
	case 'w': ls->watch = true; return -1;
	case 'S':
	case 'K': return source_option(&ls->where, letter);
	default: return filter_option(ls->tool, &ls->filter, letter);
	}
}

int cmd_ls(struct tool *tool, int argc, char **argv)
{
	struct ls ls = { .tool = tool };
	int code;

	code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, option_take, &ls);
	if (code >= 0)
		return code;
	if (argc - optind > 1)
		return tool_usage(tool, "\"%s\" is one word too many", argv[optind + 1]);
	code = source_open(tool, &ls.where, &ls.source);
	if (code != EXIT_DONE)
		return code;
	code = filter_prefix(tool, &ls.filter, &ls.source.mount, argv[optind]);
	if (code == EXIT_DONE)
		code = ls_run(&ls);
	source_close(&ls.source);
	return code;
}
