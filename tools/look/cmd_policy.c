/* atlock policy test: which rule of the policy decides. */
#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atlock.h>

#include "choice.h"
#include "look_commands.h"
#include "mount.h"
#include "term.h"

/* The file the mount has its rules from. */
static int policy_of_mount(struct tool *tool, char *out, size_t len)
{
	struct mount mount;
	int code = mount_open(tool, &mount);
	int err;

	if (code != EXIT_DONE)
		return code;
	err = mount_line(&mount, "config/policy", out, len);
	if (err < 0)
		code = tool_fail(tool, EXIT_UNAVAILABLE, "%s/config/policy cannot be read: %s", mount.path,
				 strerror(-err));
	else if (out[0] == '\0')
		code = tool_fail(tool, EXIT_NO_INPUT, "%s has no policy: everything is as without one", mount.path);
	mount_close(&mount);
	return code;
}

static const char *const verdicts[] = {
	"no rule decides: as without a policy", /* by verdict */
	"allowed",
	"denied",
};

/* 0 also where no rule decides: then nothing is denied. */
static int policy_tell(struct tool *tool, struct atlock_policy *policy, char **words)
{
	struct atlock_policy_answer answer;
	struct atlock_why why;
	int err = atlock_policy_test(policy, words[0], words[1], words[2], &answer, &why);

	if (err < 0)
		return tool_fail(tool, err == -EINVAL ? EXIT_USAGE : EXIT_NO_INPUT, "%s", why.text);
	if (answer.line == 0)
		puts(verdicts[answer.verdict]);
	else
		printf("%s by line %zu: %s\n", verdicts[answer.verdict], answer.line, term_text(answer.rule));
	return answer.verdict == ATLOCK_POLICY_DENIES ? EXIT_REFUSED : EXIT_DONE;
}

static int file_take(void *arg, int letter)
{
	const char **file = arg;

	(void)letter;
	*file = optarg;
	return -1;
}

/* The rules of a file, or of the mount. */
static int rules_load(struct tool *tool, const char *file, struct atlock_policy **out)
{
	char path[PATH_MAX];
	struct atlock_why why;
	int code = EXIT_DONE;

	if (file == NULL)
		code = policy_of_mount(tool, path, sizeof(path));
	else if (realpath(file, path) == NULL)
		code = tool_fail(tool, EXIT_NO_INPUT, "%s: %s", file, strerror(errno));
	if (code == EXIT_DONE && atlock_policy_load(path, out, &why) < 0)
		code = tool_fail(tool, EXIT_DATA, "%s", why.text);
	return code;
}

int cmd_policy(struct tool *tool, int argc, char **argv)
{
	bool test = argc > 1 && strcmp(argv[1], "test") == 0;
	struct atlock_policy *policy = NULL;
	const char *file = NULL;
	int code;

	argc -= test;
	argv += test;
	code = choice_read(tool, argc, argv, CHOICE_FIRST, file_take, &file);
	if (code >= 0)
		return code;
	if (!test || argc - optind != 3)
		return tool_usage(tool, "it is called as: policy test USER ACTION LOCK");
	code = rules_load(tool, file, &policy);
	if (code == EXIT_DONE)
		code = policy_tell(tool, policy, argv + optind);
	atlock_policy_free(policy);
	return code;
}
