/* atlock fsck: whether all in a store fits together; with --repair it is made to. */
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "source.h"
#include "store_commands.h"
#include "term.h"

/* How many problems there are, or a negative errno. Tells of each unless they are about to be set right. */
static int64_t check(struct atlock *al, bool tell)
{
	struct atlock_why why = { .text = "" };
	int64_t problems = atlock_check(al, tell ? stdout : NULL);
	uint64_t bad = 0;

	if (problems >= 0 && atlock_events_verify(al, &bad, &why) < 0) {
		if (tell)
			printf("events: %s\n", why.text);
		problems++;
	}
	return problems;
}

/* What is in order is not touched. */
static int repair(struct tool *tool, const struct source_where *where)
{
	struct atlock_why why = { .text = "" };
	struct atlock *al;
	int code = source_open_damaged(tool, where, false, &al);
	int64_t done;
	int64_t left;

	if (code != EXIT_DONE)
		return code;
	done = atlock_repair(al, stdout, &why);
	left = done < 0 ? 0 : check(al, true);
	atlock_close(al);
	if (done < 0)
		return tool_fail(tool, EXIT_DATA, "not repaired: %s",
				 why.text[0] != '\0' ? why.text : strerror((int)-done));
	printf("repaired: %" PRId64 " problem%s\n", done, TOOL_S(done));
	if (left == 0)
		return EXIT_DONE;
	return tool_fail(tool, EXIT_REFUSED, "%" PRId64 " problem%s left: restore a copy", left, TOOL_S(left));
}

static int fsck(struct tool *tool, const struct source_where *where, bool fix)
{
	struct atlock *al;
	int code = source_open_damaged(tool, where, true, &al);
	int64_t problems;

	if (code != EXIT_DONE)
		return code;
	problems = check(al, !fix);
	atlock_close(al);
	if (problems < 0)
		return tool_fail(tool, EXIT_DATA, "the store cannot be read: %s", strerror((int)-problems));
	if (problems == 0) {
		printf("%s: all is in order\n", term_text(where->store));
		return EXIT_DONE;
	}
	if (fix)
		return repair(tool, where);
	return tool_fail(tool, EXIT_REFUSED, "%" PRId64 " problem%s: unmount it and use --repair", problems,
			 TOOL_S(problems));
}

int cmd_fsck(struct tool *tool, int argc, char **argv)
{
	static const struct option longs[] = {
		TOOL_LONG,
		SOURCE_LONG,
		{ "repair", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	struct source_where where = { .store = NULL };
	bool fix = false;
	int code = -1;
	int c;

	while (code < 0 && (c = getopt_long(argc, argv, TOOL_ANYWHERE SOURCE_SHORT "r", longs, NULL)) != -1) {
		if (c == 'r')
			fix = true;
		else
			code = source_option(tool, &where, c);
	}
	if (code >= 0)
		return code;
	if (where.store == NULL && optind < argc)
		where.store = argv[optind++];
	if (where.store == NULL || optind < argc)
		return tool_usage(tool, "which store? One directory");
	return fsck(tool, &where, fix);
}
