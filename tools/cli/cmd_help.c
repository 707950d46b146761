/* atlock help: explains a command, or lists them all. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "choice.h"
#include "help.h"
#include "shell_commands.h"

static int all_take(void *arg, int letter)
{
	bool *all = arg;

	(void)letter;
	*all = true;
	return -1;
}

int cmd_help(struct tool *tool, int argc, char **argv)
{
	const struct command *command;
	bool all = false;
	int code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, all_take, &all);

	if (code >= 0)
		return code;
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
