/* atlock unlock: give locks back. */
#include <getopt.h>
#include <limits.h>

#include "choice.h"
#include "hold_commands.h"
#include "lockpath.h"

static int unlock_one(void *arg, const char *path, const char *word)
{
	(void)word;
	return lockpath_release(arg, path);
}

int cmd_unlock(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 1, INT_MAX, "which lock?" };
	struct mount mount;
	const struct lockpath_act act = {
		.fn = unlock_one,
		.arg = &mount,
		.absent = true,
		.named = true,
		.advice = "if that is you, name it LOCK@WHO; else see 'atlock help force-unlock'",
	};
	int code = choice_words(tool, argc, argv, words, NULL, NULL);

	return code >= 0 ? code : lockpath_each(tool, &mount, argv + optind, &act);
}
