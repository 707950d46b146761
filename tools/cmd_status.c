/* atlock status: where the file system is mounted, and what it says about itself. */
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "mount.h"
#include "term.h"

int cmd_status(struct tool *tool, int argc, char **argv)
{
	static const struct option longs[] = { TOOL_LONG, { NULL, 0, NULL, 0 } };
	bool first = true;
	bool well = false;
	struct mount mount;
	char line[256];
	FILE *health;
	int code;
	int c;

	while ((c = getopt_long(argc, argv, TOOL_SHORT, longs, NULL)) != -1) {
		code = tool_option(tool, c);
		if (code >= 0)
			return code;
	}
	if (optind != argc)
		return tool_usage(tool, "\"%s\" is one word too many", argv[optind]);
	code = mount_open(tool, &mount);
	if (code != EXIT_DONE)
		return code;
	health = mount_read(&mount, "health");
	if (health == NULL) {
		mount_close(&mount);
		return tool_fail(tool, EXIT_UNAVAILABLE, "%s/health cannot be read", mount.path);
	}
	printf("mount=%s\n", mount.path);
	while (fgets(line, sizeof(line), health) != NULL) {
		if (first)
			well = strcmp(line, "ok\n") == 0;
		printf("%s%.*s%s\n", first ? term_color(stdout, well ? TERM_GREEN : TERM_RED) : "",
		       (int)strcspn(line, "\n"), line, first ? term_color(stdout, TERM_PLAIN) : "");
		first = false;
	}
	fclose(health);
	mount_close(&mount);
	return well ? EXIT_DONE : EXIT_REFUSED;
}
