/* atlock status: where the file system is mounted, and what it says about itself. */
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "choice.h"
#include "look_commands.h"
#include "mount.h"
#include "term.h"

int cmd_status(struct tool *tool, int argc, char **argv)
{
	bool first = true;
	bool well = false;
	struct mount mount;
	char line[256];
	FILE *health;
	int code;

	code = choice_words(tool, argc, argv, (struct choice_count){ .most = 0 }, NULL, NULL);
	if (code >= 0)
		return code;
	code = mount_open(tool, &mount);
	if (code != EXIT_DONE)
		return code;
	health = mount_read(&mount, "health");
	if (health == NULL) {
		mount_close(&mount);
		return tool_fail(tool, EXIT_UNAVAILABLE, "%s/health cannot be read", mount.path);
	}
	printf("mount=%s\n", term_text(mount.path));
	while (fgets(line, sizeof(line), health) != NULL) {
		if (first)
			well = strcmp(line, "ok\n") == 0;
		line[strcspn(line, "\n")] = '\0';
		printf("%s%s%s\n", first ? term_color(stdout, well ? TERM_GREEN : TERM_RED) : "", term_text(line),
		       first ? term_color(stdout, TERM_PLAIN) : "");
		first = false;
	}
	fclose(health);
	mount_close(&mount);
	return well ? EXIT_DONE : EXIT_REFUSED;
}
