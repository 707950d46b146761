/* atlock transfer: hand locks over; token and queue stay. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "choice.h"
#include "hold_commands.h"
#include "lockpath.h"

struct transfer {
	const struct tool *tool;
	struct mount mount;
	const char *owner;   /* or "" */
	const char *who;     /* or "" */
	const char *version; /* --if-version, or NULL */
	char text[ATLOCK_OWNER_MAX + ATLOCK_WHO_MAX + 96];
};

/* Root gives another holder's lock to a user by chown(2), under the name LOCK@WHO, which the file system requires. */
static int transfer_by_chown(const struct transfer *transfer, const char *path)
{
	const struct passwd *user = getpwnam(transfer->owner);
	char name[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 2];
	char who[ATLOCK_WHO_MAX + 1];

	if (user == NULL)
		return tool_fail(transfer->tool, EXIT_REFUSED, "there is no user %s", transfer->owner);
	if (strchr(path, '@') == NULL && mount_field(&transfer->mount, path, "who", who, sizeof(who))) {
		(void)snprintf(name, sizeof(name), "%s@%s", path, who);
		path = name;
	}
	return fchownat(transfer->mount.fd, path, user->pw_uid, (gid_t)-1, 0) != 0 ? -errno : 0;
}

static int transfer_one(void *arg, const char *path, const char *word)
{
	const struct transfer *transfer = arg;
	int err = mount_write(&transfer->mount, path, O_APPEND, transfer->text);
	bool others = err == -EBUSY || err == -EACCES || err == -EPERM;

	(void)word;
	if (others && geteuid() == 0 && transfer->version == NULL && transfer->owner[0] != '\0' &&
	    transfer->who[0] == '\0')
		err = transfer_by_chown(transfer, path);
	if (err == -EINVAL && transfer->who[0] == '\0' && mount_advises(&transfer->mount, ATLOCK_ADVICE_WHO))
		return tool_fail(transfer->tool, EXIT_REFUSED,
				 "%s: a session, process or open file holds it: say as whom %s gets it, --to %s@WHO",
				 path, transfer->owner, transfer->owner);
	return err;
}

/* "alice", "alice@build-17" or "@build-17". */
static int to_take(void *arg, int letter)
{
	struct transfer *transfer = arg;
	char *text = optarg;
	char *at = strchr(text, '@');
	bool owner;

	if (letter == 'I') {
		transfer->version = optarg;
		return tool_version(transfer->tool);
	}
	if (text[0] == '\0' || (at != NULL && at[1] == '\0') || strchr(text, '\n') != NULL ||
	    strlen(text) + sizeof("owner=\nwho=\n") > ATLOCK_OWNER_MAX + ATLOCK_WHO_MAX + 32)
		return tool_usage(transfer->tool, "--to is OWNER, OWNER@WHO or @WHO, not \"%s\"", text);
	if (at != NULL)
		*at = '\0';
	transfer->owner = text;
	transfer->who = at == NULL ? "" : at + 1;
	owner = transfer->owner[0] != '\0';
	(void)snprintf(transfer->text, sizeof(transfer->text), "%s%s%s%s%s%s", owner ? "owner=" : "", transfer->owner,
		       owner ? "\n" : "", at != NULL ? "who=" : "", transfer->who, at != NULL ? "\n" : "");
	return -1;
}

int cmd_transfer(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 1, INT_MAX, "which lock?" };
	struct transfer transfer = { .tool = tool };
	const struct lockpath_act act = {
		.fn = transfer_one,
		.arg = &transfer,
		.named = true,
		.advice = geteuid() == 0 ? "if that is you, name it LOCK@WHO; root gives it to a user with --to OWNER"
					 : "if that is you, name it LOCK@WHO; else ask its holder, or root",
	};
	int code = choice_words(tool, argc, argv, words, to_take, &transfer);

	if (code >= 0)
		return code;
	if (transfer.owner == NULL)
		return tool_usage(tool, "to whom? --to OWNER@WHO says so");
	if (transfer.version != NULL)
		(void)snprintf(transfer.text + strlen(transfer.text), sizeof(transfer.text) - strlen(transfer.text),
			       "if_version=%s\n", transfer.version);
	return lockpath_each(tool, &transfer.mount, argv + optind, &act);
}
