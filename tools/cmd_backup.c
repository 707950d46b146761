/* atlock backup: a copy of a store, whole and of one moment, while it is in use. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>

#include "source.h"

static int backup(struct tool *tool, const struct source_where *where, const char *to)
{
	struct atlock_why why = { .text = "" };
	struct atlock *al;
	int code = source_open_store(tool, where, true, &al);
	int err;

	if (code != EXIT_DONE)
		return code;
	err = atlock_backup(al, to, &why);
	atlock_close(al);
	if (err < 0)
		return tool_fail(tool, err == -ENOTEMPTY ? EXIT_REFUSED : tool_exit_code(-err), "%s", why.text);
	return EXIT_DONE;
}

/* What was written is worth nothing before it has been read. */
static int backup_check(struct tool *tool, const struct source_where *where, const char *to)
{
	struct source_where copy = { .store = to, .key_file = where->key_file };
	struct atlock_status status = { .held = 0 };
	struct atlock *al;
	int code = source_open_store(tool, &copy, true, &al);
	int64_t problems;

	if (code != EXIT_DONE)
		return code;
	problems = atlock_check(al, stderr);
	(void)atlock_status(al, &status);
	atlock_close(al);
	if (problems != 0)
		return tool_fail(tool, EXIT_DATA, "the copy in %s has %" PRId64 " problem%s: atlock fsck the store", to,
				 problems, TOOL_S(problems));
	printf("%s: %" PRIu64 " lock%s, %" PRIu64 " waiter%s, %" PRIu64 " event%s\n", to, status.held,
	       TOOL_S(status.held), status.waiting, TOOL_S(status.waiting), status.events, TOOL_S(status.events));
	return EXIT_DONE;
}

int cmd_backup(struct tool *tool, int argc, char **argv)
{
	struct source_where where;
	int code = source_words(tool, argc, argv, &where,
				"which store? --store says so: the directory that atlockfs was given",
				"where to? One directory, new or empty");

	if (code >= 0)
		return code;
	code = backup(tool, &where, argv[optind]);
	return code == EXIT_DONE ? backup_check(tool, &where, argv[optind]) : code;
}
