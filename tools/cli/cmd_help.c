/* atlock help: explains a command, or lists them all. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "help.h"
#include "shell_commands.h"

int cmd_help(struct tool *tool, int argc, char **argv)
{
	static const struct option longs[] = {
		TOOL_LONG,
		{ "all", no_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	const struct command *command;
	bool all = false;
	int code;
	int c;

	while ((c = getopt_long(argc, argv, TOOL_ANYWHERE "a", longs, NULL)) != -1) {
		all = all || c == 'a';
		code = c == 'a' ? -1 : tool_option(tool, c);
		if (code >= 0)
			return code;
	}
	if (argc - optind > 1 || (all && optind < argc))
		return tool_usage(tool, "one command at a time");
	if (all || optind == argc) {
		(all ? help_all : help_short)(stdout, tool->commands);
		return EXIT_DONE;
	}
	command = command_find(tool->commands, argv[optind]);
	if (command == NULL)
		return help_unknown(tool->commands, argv[optind]);
	help_one(stdout, command);
	return EXIT_DONE;
}
