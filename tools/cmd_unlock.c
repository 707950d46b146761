/* atlock unlock: give locks back. */
#include <getopt.h>

#include "lockpath.h"

static int unlock_one(void *arg, const char *path)
{
	return lockpath_release(arg, path);
}

int cmd_unlock(struct tool *tool, int argc, char **argv)
{
	static const struct option longs[] = { TOOL_LONG, { NULL, 0, NULL, 0 } };
	struct mount mount;
	const struct lockpath_act act = {
		.fn = unlock_one,
		.arg = &mount,
		.advice = "if that is you, name it LOCK@WHO; else see 'atlock help force-unlock'",
	};
	int code;
	int c;

	while ((c = getopt_long(argc, argv, TOOL_ANYWHERE, longs, NULL)) != -1) {
		code = tool_option(tool, c);
		if (code >= 0)
			return code;
	}
	if (optind == argc)
		return tool_usage(tool, "which lock?");
	code = mount_open(tool, &mount);
	if (code != EXIT_DONE)
		return code;
	code = lockpath_each(tool, &mount, argv + optind, &act);
	mount_close(&mount);
	return code;
}
