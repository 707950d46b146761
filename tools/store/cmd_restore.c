/* atlock restore: a store from a copy that atlock backup made. */
#include <atlock/check.h>
#include <atlock/realm.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>

#include "source.h"
#include "store_commands.h"
#include "term.h"

static int problems_fail(const struct tool *tool, const char *where, int64_t problems)
{
	return tool_fail(tool, EXIT_DATA, "%s has %" PRId64 " problem%s: not restored", where, problems,
			 TOOL_S(problems));
}

/* Checks the backup, then copies it. */
static int restore_copy(struct tool *tool, const struct source_where *from, const char *to)
{
	struct atlock_why why = { .text = "" };
	struct atlock *al;
	int code = source_open_store(tool, from, true, &al);
	int64_t problems;
	int err = 0;

	if (code != EXIT_DONE)
		return code;
	problems = atlock_check(al, stderr);
	if (problems == 0)
		err = atlock_backup(al, to, &why);
	atlock_close(al);
	if (problems != 0)
		return problems_fail(tool, from->store, problems);
	if (err < 0)
		return tool_fail(tool, err == -ENOTEMPTY ? EXIT_REFUSED : tool_exit_code(-err), "%s", why.text);
	return EXIT_DONE;
}

static int restore_finish(struct tool *tool, const struct source_where *to)
{
	struct atlock_why why = { .text = "" };
	struct atlock_status status = { .held = 0 };
	struct atlock *al;
	int code = source_open_store(tool, to, false, &al);
	int64_t problems = 0;
	int err;

	if (code != EXIT_DONE)
		return code;
	err = atlock_restored(al, &why);
	if (err == 0)
		problems = atlock_check(al, stderr);
	(void)atlock_status(al, &status);
	atlock_close(al);
	if (err < 0)
		return tool_fail(tool, tool_exit_code(-err), "%s", why.text);
	if (problems != 0)
		return problems_fail(tool, to->store, problems);
	printf("%s: %" PRIu64 " lock%s, %" PRIu64 " waiter%s; mount it with atlockfs --store\n", term_text(to->store),
	       status.held, TOOL_S(status.held), status.waiting, TOOL_S(status.waiting));
	return EXIT_DONE;
}

int cmd_restore(struct tool *tool, int argc, char **argv)
{
	struct source_where where;
	struct source_where from;
	int code = source_words(tool, argc, argv, &where,
				"where to? --store says so: a new or empty directory for atlockfs",
				"which copy? One directory that atlock backup made");

	if (code >= 0)
		return code;
	if (atlock_realm_is(where.store))
		return realm_restore(tool, where.store, argv[optind]);
	from = (struct source_where){ .store = argv[optind], .key_file = where.key_file };
	code = restore_copy(tool, &from, where.store);
	return code == EXIT_DONE ? restore_finish(tool, &where) : code;
}
