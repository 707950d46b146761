/* atlock backup: a copy of a store, whole and of one moment, while it is in use. */
#include <atlock/check.h>
#include <atlock/realm.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "source.h"
#include "store_commands.h"
#include "term.h"

struct named {
	char store[PATH_MAX];
	char key_file[PATH_MAX];
};

/* In a container that path may be missing or another store: a process that runs here must own it. */
static bool is_in_use(const char *store)
{
	char path[PATH_MAX + 16];
	FILE *file;
	int pid = 0;

	(void)snprintf(path, sizeof(path), "%s/owner.pid", store);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* The store of the mount, and its key unless one was given. */
static int mount_take(struct tool *tool, struct source_where *where, struct named *named)
{
	struct mount mount;

	named->store[0] = '\0';
	if (mount_open(tool, &mount) == EXIT_DONE) {
		mount_line(&mount, "config/store", named->store, sizeof(named->store));
		mount_line(&mount, "config/key_file", named->key_file, sizeof(named->key_file));
		mount_close(&mount);
	}
	if (named->store[0] != '/' || !is_in_use(named->store))
		return tool_usage(tool, "which store? --store says so: the directory that atlockfs was given");
	where->store = named->store;
	if (where->key_file == NULL && named->key_file[0] != '\0')
		where->key_file = named->key_file;
	return EXIT_DONE;
}

static int backup(struct tool *tool, const struct source_where *where, const char *to)
{
	struct atlock_why why = { .text = "" };
	struct atlock *al;
	int code = source_open_store(tool, where, true, &al);
	int err;

	if (code != EXIT_DONE)
		return code;
	err = atlock_backup(al, to, &why);
	atlock_close(al);
	if (err < 0)
		return tool_fail(tool, err == -ENOTEMPTY ? EXIT_REFUSED : tool_exit_code(-err), "%s", why.text);
	return EXIT_DONE;
}

/* Checks the copy: a backup that was never read is worth nothing. */
static int backup_check(struct tool *tool, const struct source_where *where, const char *to)
{
	struct source_where copy = { .store = to, .key_file = where->key_file };
	struct atlock_status status = { .held = 0 };
	struct atlock *al;
	int code = source_open_store(tool, &copy, true, &al);
	int64_t problems;

	if (code != EXIT_DONE)
		return code;
	problems = atlock_check(al, stderr);
	(void)atlock_status(al, &status);
	atlock_close(al);
	if (problems != 0)
		return tool_fail(tool, EXIT_DATA, "the copy in %s has %" PRId64 " problem%s: atlock fsck the store", to,
				 problems, TOOL_S(problems));
	printf("%s: %" PRIu64 " lock%s, %" PRIu64 " waiter%s, %" PRIu64 " event%s\n", term_text(to), status.held,
	       TOOL_S(status.held), status.waiting, TOOL_S(status.waiting), status.events, TOOL_S(status.events));
	return EXIT_DONE;
}

int cmd_backup(struct tool *tool, int argc, char **argv)
{
	struct source_where where;
	struct named named;
	int code = source_words(tool, argc, argv, &where, NULL, "where to? One directory, new or empty");

	if (code >= 0)
		return code;
	if (atlock_realm_is(where.store))
		return realm_backup(tool, where.store, argv[optind]);
	code = where.store != NULL ? EXIT_DONE : mount_take(tool, &where, &named);
	if (code != EXIT_DONE)
		return code;
	code = backup(tool, &where, argv[optind]);
	return code == EXIT_DONE ? backup_check(tool, &where, argv[optind]) : code;
}
