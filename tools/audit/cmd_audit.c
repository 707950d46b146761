/* atlock audit: looks at the event log, on the mount, in copies of its files, or in a store. */
#include <getopt.h>
#include <string.h>

#include "audit.h"
#include "audit_command.h"
#include "choice.h"

static const struct {
	const char *name;
	command_fn *run;
} actions[] = { { "show", audit_show }, { "verify", audit_verify }, { "archive", audit_archive } };

int cmd_audit(struct tool *tool, int argc, char **argv)
{
	/* Each action reads its own options, which follow its name. */
	int code = choice_read(tool, argc, argv, CHOICE_FIRST, NULL, NULL);

	if (code >= 0)
		return code;
	if (optind == argc)
		return tool_usage(tool, "say show, verify or archive");
	argc -= optind;
	argv += optind;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, argv[0]) == 0)
			return actions[i].run(tool, argc, argv);
	return tool_usage(tool, "\"%s\" is neither show, verify nor archive", argv[0]);
}
