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
	char text[64];       /* what to write; "": the lease it has, from now */
	const char *version; /* --if-version, or NULL */
};

static int lease_renew(void *arg, const char *path, const char *word)
{
	const struct renew *renew = arg;
	char text[256];
	char ttl[64];

	(void)word;
	if (renew->version != NULL) {
		if (renew->text[0] == '\0' && !mount_field(&renew->mount, path, "ttl", ttl, sizeof(ttl)))
			return -ENOENT;
		(void)snprintf(text, sizeof(text), "if_version=%s\n%s%s%s", renew->version,
			       renew->text[0] == '\0' ? "ttl=" : "", renew->text[0] == '\0' ? ttl : renew->text,
			       renew->text[0] == '\0' ? "\n" : "");
		return mount_write(&renew->mount, path, O_APPEND, text);
	}
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

	if (letter == 'I') {
		renew->version = optarg;
		return tool_version(renew->tool);
	}
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
		.named = true,
		.advice =
			"if that is you, name it LOCK@WHO, or where it is a session, renew it there or see 'atlock help transfer'",
	};
	int code = choice_words(tool, argc, argv, words, option_take, &renew);

	return code >= 0 ? code : lockpath_each(tool, &renew.mount, argv + optind, &act);
}
