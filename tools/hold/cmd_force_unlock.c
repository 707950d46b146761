/* atlock force-unlock: releases another holder's lock, by its path or its id. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "choice.h"
#include "hold_commands.h"
#include "lockpath.h"
#include "term.h"

struct holder {
	char id[ATLOCK_ID_MAX];
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];
	char since[64];
};

static bool holder_read(const struct mount *mount, const char *path, struct holder *out)
{
	return mount_field(mount, path, "id", out->id, sizeof(out->id)) &&
	       mount_field(mount, path, "owner", out->owner, sizeof(out->owner)) &&
	       mount_field(mount, path, "who", out->who, sizeof(out->who)) &&
	       mount_field(mount, path, "acquired_at", out->since, sizeof(out->since));
}

struct force {
	struct tool *tool;
	struct mount mount;
};

static int force_one(void *arg, const char *path, const char *word)
{
	const struct force *force = arg;
	const struct tool *tool = force->tool;
	const struct mount *mount = &force->mount;
	struct holder holder;
	int code;
	int err;

	if (!holder_read(mount, path, &holder))
		return tool_fail(tool, EXIT_REFUSED, "%s: it is not held", path);
	if (lockpath_is_id(word) && strcmp(holder.id, word) != 0)
		return tool_fail(tool, EXIT_REFUSED, "%s: no lock has that id any more", word);
	err = lockpath_force(mount, path, holder.who);
	if (err == -ENOENT)
		return tool_fail(tool, EXIT_REFUSED, "%s: %s@%s does not hold it any more", path, holder.owner,
				 holder.who);
	if (err < 0) {
		code = lockpath_refused(tool, mount, path, -err, NULL);
		return err == -EPERM || err == -EACCES ? EXIT_PERMISSION : code;
	}
	printf("released %s, which %s@%s had since %s\n", term_text(path), term_text(holder.owner),
	       term_text(holder.who), holder.since);
	return EXIT_DONE;
}

int cmd_force_unlock(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 1, INT_MAX, "which lock? A path, or an id as cat and ls show it" };
	struct force force = { .tool = tool };
	const struct lockpath_act act = { .fn = force_one, .arg = &force };
	int code = choice_words(tool, argc, argv, words, NULL, NULL);

	return code >= 0 ? code : lockpath_each(tool, &force.mount, argv + optind, &act);
}
