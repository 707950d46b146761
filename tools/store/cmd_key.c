/* atlock key: makes key files for the option key_file, and tells them apart. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "atlock.h"
#include "choice.h"
#include "store_commands.h"

typedef int key_fn(const char *path, char id[ATLOCK_KEY_ID_MAX], struct atlock_why *why);

static const struct {
	const char *name;
	key_fn *run;
} actions[] = { { "new", atlock_key_new }, { "id", atlock_key_id } };

static key_fn *action_find(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, name) == 0)
			return actions[i].run;
	return NULL;
}

int cmd_key(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 2, 2, "say new or id, and which file" };
	char id[ATLOCK_KEY_ID_MAX] = "";
	struct atlock_why why;
	key_fn *action;
	int code = choice_words(tool, argc, argv, words, NULL, NULL);
	int err;

	if (code >= 0)
		return code;
	action = action_find(argv[optind]);
	if (action == NULL)
		return tool_usage(tool, "\"%s\" is neither new nor id", argv[optind]);
	err = action(argv[optind + 1], id, &why);
	if (err < 0)
		return tool_fail(tool, err == -EEXIST ? EXIT_REFUSED : tool_exit_code(-err), "%s", why.text);
	printf("%s\n", id);
	return EXIT_DONE;
}
