/* atlock audit: looks at the event log, on the mount, in copies of its files, or in a store. */
#include <getopt.h>
#include <string.h>

#include "audit.h"
#include "audit_command.h"

static const struct {
	const char *name;
	command_fn *run;
} actions[] = { { "show", audit_show }, { "verify", audit_verify }, { "archive", audit_archive } };

int cmd_audit(struct tool *tool, int argc, char **argv)
{
	static const struct option longs[] = { TOOL_LONG, { NULL, 0, NULL, 0 } };
	int c;

	while ((c = getopt_long(argc, argv, TOOL_SHORT, longs, NULL)) != -1) {
		int code = tool_option(tool, c);

		if (code >= 0)
			return code;
	}
	if (optind == argc)
		return tool_usage(tool, "say show, verify or archive");
	argc -= optind;
	argv += optind;
	tool->argv = argv;
	optind = 0; /* glibc: begin anew */
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, argv[0]) == 0)
			return actions[i].run(tool, argc, argv);
	return tool_usage(tool, "\"%s\" is neither show, verify nor archive", argv[0]);
}
