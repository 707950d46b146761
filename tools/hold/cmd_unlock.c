/* atlock unlock: give locks back. */
#include <getopt.h>
#include <limits.h>

#include "choice.h"
#include "hold_commands.h"
#include "lockpath.h"

static int unlock_one(void *arg, const char *path)
{
	return lockpath_release(arg, path);
}

int cmd_unlock(struct tool *tool, int argc, char **argv)
{
	struct mount mount;
	const struct lockpath_act act = {
		.fn = unlock_one,
		.arg = &mount,
		.advice = "if that is you, name it LOCK@WHO; else see 'atlock help force-unlock'",
	};
	int code;

	code = choice_words(tool, argc, argv, 1, INT_MAX, "which lock?");
	if (code >= 0)
		return code;
	code = mount_open(tool, &mount);
	if (code != EXIT_DONE)
		return code;
	code = lockpath_each(tool, &mount, argv + optind, &act);
	mount_close(&mount);
	return code;
}
