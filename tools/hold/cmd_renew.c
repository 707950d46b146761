/* atlock renew: make leases longer. */
#include <errno.h>
#include <getopt.h>
#include <sys/stat.h>

#include "hold_commands.h"
#include "lockpath.h"

struct renew {
	struct mount mount;
	char text[64]; /* what to write; "": the lease it has, from now */
};

static int renew_one(void *arg, const char *path)
{
	const struct renew *renew = arg;

	if (renew->text[0] != '\0')
		return lockpath_write(&renew->mount, path, renew->text);
	return utimensat(renew->mount.fd, path, NULL, 0) != 0 ? -errno : 0;
}

static int option_take(struct tool *tool, struct renew *renew, int option)
{
	int64_t time;
	int code;

	if (option != 't' && option != 'a')
		return tool_option(tool, option);
	if (renew->text[0] != '\0')
		return tool_usage(tool, "one of --ttl and --add is enough");
	code = tool_duration(tool, option == 't' ? "ttl" : "add", option == 't', &time);
	if (code < 0)
		(void)snprintf(renew->text, sizeof(renew->text), "%s=%s\n", option == 't' ? "ttl" : "renew", optarg);
	return code;
}

int cmd_renew(struct tool *tool, int argc, char **argv)
{
	static const struct option longs[] = {
		TOOL_LONG,
		{ "ttl", required_argument, NULL, 't' },
		{ "add", required_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	struct renew renew = { .text = "" };
	const struct lockpath_act act = {
		.fn = renew_one,
		.arg = &renew,
		.advice =
			"if that is you, name it LOCK@WHO, or where it is a session, renew it there or see 'atlock help transfer'",
	};
	int code;
	int c;

	while ((c = getopt_long(argc, argv, TOOL_ANYWHERE "t:a:", longs, NULL)) != -1) {
		code = option_take(tool, &renew, c);
		if (code >= 0)
			return code;
	}
	if (optind == argc)
		return tool_usage(tool, "which lock?");
	code = mount_open(tool, &renew.mount);
	if (code != EXIT_DONE)
		return code;
	code = lockpath_each(tool, &renew.mount, argv + optind, &act);
	mount_close(&renew.mount);
	return code;
}
