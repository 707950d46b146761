/* atlock fsck: checks a store, and with --repair mends it. */
#include <atlock/check.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "choice.h"
#include "source.h"
#include "store_commands.h"
#include "term.h"

struct fsck {
	struct source_where where;
	bool fix;
};

/* How many problems there are, or a negative errno. Prints each if `tell`. */
static int64_t store_check(struct atlock *al, bool tell)
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

/* Repairs a store in which the check has found problems. */
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
	left = done < 0 ? 0 : store_check(al, true);
	atlock_close(al);
	if (done < 0)
		return tool_fail(tool, EXIT_DATA, "not repaired: %s",
				 why.text[0] != '\0' ? why.text : strerror((int)-done));
	printf("repaired: %" PRId64 " problem%s\n", done, TOOL_S(done));
	if (left == 0)
		return EXIT_DONE;
	return tool_fail(tool, EXIT_REFUSED, "%" PRId64 " problem%s left: restore a copy", left, TOOL_S(left));
}

static int store_fsck(struct tool *tool, const struct fsck *fsck)
{
	struct atlock *al;
	int code = source_open_damaged(tool, &fsck->where, true, &al);
	int64_t problems;

	if (code != EXIT_DONE)
		return code;
	problems = store_check(al, !fsck->fix);
	atlock_close(al);
	if (problems < 0)
		return tool_fail(tool, EXIT_DATA, "the store cannot be read: %s", strerror((int)-problems));
	if (problems == 0) {
		printf("%s: all is in order\n", term_text(fsck->where.store));
		return EXIT_DONE;
	}
	if (fsck->fix)
		return repair(tool, &fsck->where);
	return tool_fail(tool, EXIT_REFUSED, "%" PRId64 " problem%s: unmount it and use --repair", problems,
			 TOOL_S(problems));
}

static int option_take(void *arg, int letter)
{
	struct fsck *fsck = arg;

	if (letter != 'R')
		return source_option(&fsck->where, letter);
	fsck->fix = true;
	return -1;
}

int cmd_fsck(struct tool *tool, int argc, char **argv)
{
	struct fsck fsck = { .fix = false };
	int code;

	code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, option_take, &fsck);
	if (code >= 0)
		return code;
	if (fsck.where.store == NULL && optind < argc)
		fsck.where.store = argv[optind++];
	if (fsck.where.store == NULL || optind < argc)
		return tool_usage(tool, "which store? One directory");
	return store_fsck(tool, &fsck);
}
