/* atlock renew: make leases longer. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>

#include "choice.h"
#include "hold_commands.h"
#include "lockpath.h"

struct renew {
	const struct tool *tool;
	struct mount mount;
	char text[64]; /* what to write; "": the lease it has, from now */
};

static int lease_renew(void *arg, const char *path, const char *word)
{
	const struct renew *renew = arg;

	(void)word;
	if (renew->text[0] != '\0')
		return mount_write(&renew->mount, path, O_APPEND, renew->text);
	return utimensat(renew->mount.fd, path, NULL, 0) != 0 ? -errno : 0;
}

static int option_take(void *arg, int letter)
{
	struct renew *renew = arg;
	bool ttl = letter == 't';
	int64_t time;
	int code;

	if (renew->text[0] != '\0')
		return tool_usage(renew->tool, "one of --ttl and --add is enough");
	code = tool_duration(renew->tool, ttl ? "ttl" : "add", ttl, &time);
	if (code < 0)
		(void)snprintf(renew->text, sizeof(renew->text), "%s=%s\n", ttl ? "ttl" : "renew", optarg);
	return code;
}

int cmd_renew(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 1, INT_MAX, "which lock?" };
	struct renew renew = { .tool = tool };
	const struct lockpath_act act = {
		.fn = lease_renew,
		.arg = &renew,
		.advice =
			"if that is you, name it LOCK@WHO, or where it is a session, renew it there or see 'atlock help transfer'",
	};
	int code = choice_words(tool, argc, argv, words, option_take, &renew);

	return code >= 0 ? code : lockpath_each(tool, &renew.mount, argv + optind, &act);
}
