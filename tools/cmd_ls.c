/* atlock ls: what is held, all of it or what some filters leave. */
#include <bsd/stdlib.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "grid.h"
#include "source.h"

struct ls {
	struct tool *tool;
	struct source source;
	struct source_where where;
	const char *prefix; /* of the path; or NULL, as the next */
	const char *owner;
	const char *who;
	const char *repo;
	const char *pull;
	int64_t older;    /* held for at least so long; 0: any */
	int64_t expiring; /* ends within so long; 0: any */
	bool json;
	bool watch;
	struct grid grid;
};

static const char *const heading[] = { "LOCK", "HOLDER", "HELD", "LEFT", "WAITERS", "REASON", "ID" };

/* --- Which --- */

static bool matches(const char *wanted, const json_t *lock, const char *key)
{
	return wanted == NULL || strcmp(wanted, source_text(lock, key)) == 0;
}

/* Held as "@pr:123", or for somebody else with pull=123. */
static bool matches_pull(const char *wanted, const json_t *lock)
{
	char number[24];

	if (wanted == NULL || matches(wanted, json_object_get(lock, "meta"), "pull"))
		return true;
	(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
		       json_integer_value(json_object_get(lock, "pull")));
	return strcmp(wanted, number) == 0;
}

/* A path itself and what is below it. */
static bool matches_prefix(const char *prefix, const char *path)
{
	size_t len = prefix == NULL ? 0 : strlen(prefix);

	while (len > 0 && prefix[len - 1] == '/')
		len--;
	return len == 0 || (strncmp(path, prefix, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

static bool is_wanted(const struct ls *ls, const json_t *lock)
{
	int64_t now = source_now();
	int64_t since = source_time(lock, "acquired_at");
	int64_t until = source_time(lock, "expires_at");

	return !source_is_waiter(lock) && matches_prefix(ls->prefix, source_text(lock, "lock")) &&
	       matches(ls->owner, lock, "owner") && matches(ls->who, lock, "who") && matches(ls->repo, lock, "repo") &&
	       matches_pull(ls->pull, lock) && (ls->older == 0 || now - since >= ls->older) &&
	       (ls->expiring == 0 || (until != ATLOCK_NEVER && until - now <= ls->expiring));
}

/* --- How they are shown --- */

/* Whole seconds are enough for people, and whole minutes of hours. */
static void age_print(int64_t age, char *out, size_t len)
{
	int64_t unit = age >= 3600 * ATLOCK_SECOND ? 60 * ATLOCK_SECOND : ATLOCK_SECOND;

	if (age == ATLOCK_NEVER)
		(void)snprintf(out, len, "-");
	else
		atlock_duration_print(age < unit ? 0 : age - age % unit, out, len);
}

static int row_add(struct grid *grid, const json_t *lock)
{
	bool people = isatty(STDOUT_FILENO);
	int64_t until = source_time(lock, "expires_at");
	char holder[ATLOCK_OWNER_MAX + ATLOCK_WHO_MAX + 2];
	char held[64];
	char left[64];
	char waiters[24];
	int err;

	(void)snprintf(holder, sizeof(holder), "%s@%s", source_text(lock, "owner"), source_text(lock, "who"));
	(void)snprintf(waiters, sizeof(waiters), "%" JSON_INTEGER_FORMAT,
		       json_integer_value(json_object_get(lock, "waiters")));
	age_print(source_now() - source_time(lock, "acquired_at"), held, sizeof(held));
	age_print(until == ATLOCK_NEVER ? until : until - source_now(), left, sizeof(left));
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

	if (!is_wanted(ls, lock))
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

/* Until ^C, or nobody reads any more. */
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

static int option_take(struct ls *ls, int option)
{
	switch (option) {
	case 'o': ls->owner = optarg; return -1;
	case 'W': ls->who = optarg; return -1;
	case 'r': ls->repo = optarg; return -1;
	case 'j': ls->json = true; return -1;
	case 'w': ls->watch = true; return -1;
	case 'O': return ask_duration(ls->tool, "older-than", false, &ls->older);
	case 'E': return ask_duration(ls->tool, "expiring-within", false, &ls->expiring);
	case 'p':
		ls->pull = optarg;
		if (strtonum(optarg, 1, INT64_MAX, NULL) > 0)
			return -1;
		return tool_usage(ls->tool, "--pull is the number of a pull request, not \"%s\"", optarg);
	default: return source_option(ls->tool, &ls->where, option);
	}
}

/* Also through the mount. */
static const char *prefix_take(const struct mount *mount, const char *text)
{
	size_t len = strlen(mount->path);

	if (text == NULL || len == 0 || strncmp(text, mount->path, len) != 0)
		return text;
	return text[len] == '/' ? text + len + 1 : text + len;
}

int cmd_ls(struct tool *tool, int argc, char **argv)
{
	static const struct option longs[] = {
		TOOL_LONG,
		SOURCE_LONG,
		{ "owner", required_argument, NULL, 'o' },
		{ "who", required_argument, NULL, 'W' },
		{ "repo", required_argument, NULL, 'r' },
		{ "pull", required_argument, NULL, 'p' },
		{ "older-than", required_argument, NULL, 'O' },
		{ "expiring-within", required_argument, NULL, 'E' },
		{ "json", no_argument, NULL, 'j' },
		{ "watch", no_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	struct ls ls = { .tool = tool };
	int code;
	int c;

	while ((c = getopt_long(argc, argv, TOOL_ANYWHERE SOURCE_SHORT "o:r:p:jw", longs, NULL)) != -1) {
		code = option_take(&ls, c);
		if (code >= 0)
			return code;
	}
	if (argc - optind > 1)
		return tool_usage(tool, "\"%s\" is one word too many", argv[optind + 1]);
	code = source_open(tool, &ls.where, &ls.source);
	if (code != EXIT_DONE)
		return code;
	ls.prefix = prefix_take(&ls.source.mount, argv[optind]);
	code = ls_run(&ls);
	source_close(&ls.source);
	return code;
}
