/* atlock migrate: moves a store, from a directory to a realm that several hosts share, or back. */
#include <atlock.h>
#include <atlock/migrate.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "choice.h"
#include "store_commands.h"
#include "term.h"

struct migrate {
	const char *from;
	const char *to;
};

static int option_take(void *arg, int letter)
{
	struct migrate *migrate = arg;

	if (letter == 'F')
		migrate->from = optarg;
	else if (letter == 'T')
		migrate->to = optarg;
	else
		return CHOICE_UNKNOWN;
	return -1;
}

static void say(void *arg, const char *what, uint64_t records)
{
	(void)arg;
	fprintf(stderr, "%" PRIu64 " record%s %s\n", records, TOOL_S(records), what);
}

int cmd_migrate(struct tool *tool, int argc, char **argv)
{
	static const struct tool_code codes[] = {
		{ EEXIST, EXIT_REFUSED }, { EBUSY, EXIT_TRY_AGAIN },  { ENOENT, EXIT_NO_INPUT },
		{ EINVAL, EXIT_USAGE },   { EAGAIN, EXIT_TRY_AGAIN }, { 0, 0 },
	};
	const struct choice_count words = { 0, 0, "from where, and where to? --from and --to say so" };
	struct atlock_why why = { .text = "" };
	struct atlock_migration done;
	struct migrate migrate = { NULL, NULL };
	int code = choice_words(tool, argc, argv, words, option_take, &migrate);
	int err;

	if (code >= 0)
		return code;
	if (migrate.from == NULL || migrate.to == NULL)
		return tool_usage(tool, "%s", words.question);
	err = atlock_migrate(migrate.from, migrate.to, say, NULL, &done, &why);
	if (err < 0)
		return tool_fail(tool, tool_exit_code_in(codes, -err), "%s", why.text);
	printf("%s: %" PRIu64 " record%s%s; mount it with atlockfs --store\n", term_text(migrate.to), done.records,
	       TOOL_S(done.records), done.was_done ? ", moved already" : "");
	printf("Do not mount %s any more: each lock would be granted twice.\n", term_text(migrate.from));
	return EXIT_DONE;
}
