#include "top_act.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lockpath.h"
#include "top_reader.h"

#define DETAILS_MAX (ATLOCK_META_BYTES * 4)

/* --- What a row is in the tree --- */

/* By its id, which another holder does not have, and which also finds a name that JSON cannot spell. */
static int path_of_lock(const struct mount *mount, const struct top_row *row, char out[ATLOCK_PATH_MAX])
{
	return lockpath_of_id(mount, row->id, out) ? 0 : -ENOENT;
}

/*
 * "<rank>-<priority>-<number>-<owner>@<who>": the rank changes while others come and go. A change of priority gives the
 * ticket another number, so a row that is older than such a change finds its waiter by name, if the deed allows it.
 */
static bool is_ticket(const char *name, const struct top_row *row, bool by_name)
{
	const char *priority = strchr(name, '-');
	const char *at = priority == NULL ? NULL : strchr(priority + 1, '-');
	size_t owner = strlen(row->owner);
	char *end;

	if (at == NULL)
		return false;
	if (strtoull(at + 1, &end, 10) == row->ticket && *end == '-')
		return true;
	return by_name && *end == '-' && strncmp(end + 1, row->owner, owner) == 0 && end[1 + owner] == '@' &&
	       strcmp(end + 2 + owner, row->who) == 0;
}

static int path_of_ticket(const struct mount *mount, const struct top_row *row, bool by_name, char out[ATLOCK_PATH_MAX])
{
	const struct dirent *entry;
	int err = -ENOENT;
	DIR *dir;
	int fd;

	(void)snprintf(out, ATLOCK_PATH_MAX, "queue/%s", row->lock);
	fd = openat(mount->fd, out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir == NULL) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((entry = readdir(dir)) != NULL && !is_ticket(entry->d_name, row, by_name))
		;
	if (entry != NULL)
		err = strlcat(out, "/", ATLOCK_PATH_MAX) + strlen(entry->d_name) < ATLOCK_PATH_MAX ? 0 : -ENAMETOOLONG;
	if (err == 0)
		(void)strlcat(out, entry->d_name, ATLOCK_PATH_MAX);
	closedir(dir);
	return err;
}

static int path_of_row(const struct mount *mount, const struct top_row *row, char out[ATLOCK_PATH_MAX])
{
	return row->id[0] != '\0' ? path_of_lock(mount, row, out) : path_of_ticket(mount, row, false, out);
}

/* --- Doing something to it --- */

typedef int path_fn(const struct mount *mount, const struct top_row *row, const char *path);

static void say_refused(const struct mount *mount, const struct top_row *row, int err, char *said, size_t len)
{
	char why[1024];
	bool named;

	if (err == -ENOENT) {
		(void)snprintf(said, len, "%s@%s does not %s %s any more", row->owner, row->who,
			       row->id[0] != '\0' ? "hold" : "wait for", row->lock);
		return;
	}
	mount_why(mount, why, sizeof(why));
	named = strstr(why, row->lock) != NULL;
	(void)snprintf(said, len, "%s%s%s", named ? "" : row->lock, named ? "" : ": ",
		       why[0] != '\0' ? why : strerror(-err));
}

static int act(struct mount *mount, const struct top_row *row, path_fn *fn, char *said, size_t len)
{
	char path[ATLOCK_PATH_MAX];
	int err = mount_reopen(mount);

	if (err < 0) {
		top_gone_print(err, said, len);
		return err;
	}
	err = path_of_row(mount, row, path);
	if (err == 0)
		err = fn(mount, row, path);
	if (err < 0)
		say_refused(mount, row, err, said, len);
	mount_close(mount);
	return err;
}

/* --- Locks --- */

/* What has a name of its own is its user's to give back from any session, and the name is the comparison. */
static int release_own(const struct mount *mount, const struct top_row *row, const char *path)
{
	char name[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 2];

	(void)snprintf(name, sizeof(name), "%s@%s", path, row->who);
	if (row->uid == geteuid() && lockpath_release(mount, name) == 0)
		return 0;
	return lockpath_release(mount, path);
}

static int release_any(const struct mount *mount, const struct top_row *row, const char *path)
{
	return lockpath_force(mount, path, row->who);
}

static int release(struct mount *mount, const struct top_row *row, path_fn *fn, char *said, size_t len)
{
	int err = act(mount, row, fn, said, len);

	if (err == 0)
		(void)snprintf(said, len, "released %s, which %s@%s had", row->lock, row->owner, row->who);
	return err;
}

int top_release(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	return release(mount, row, release_own, said, len);
}

int top_force(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	return release(mount, row, release_any, said, len);
}

/* --- Waiters --- */

static int cancel_any(const struct mount *mount, const struct top_row *row, const char *path)
{
	(void)row;
	return unlinkat(mount->fd, path, 0) == 0 ? 0 : -errno;
}

/* An administrator's unlink removes every user's ticket, so the owner is checked first. */
static int cancel_own(const struct mount *mount, const struct top_row *row, const char *path)
{
	int err = lockpath_mine(mount, path);

	return err < 0 ? err : cancel_any(mount, row, path);
}

static int cancel(struct mount *mount, const struct top_row *row, path_fn *fn, char *said, size_t len)
{
	int err = act(mount, row, fn, said, len);

	if (err == 0)
		(void)snprintf(said, len, "%s@%s is not in the queue of %s any more", row->owner, row->who, row->lock);
	return err;
}

int top_cancel(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	if (row->uid == geteuid())
		return cancel(mount, row, cancel_own, said, len);
	(void)snprintf(said, len, "that place in the queue of %s belongs to %s@%s: F takes it, for those who may",
		       row->lock, row->owner, row->who);
	return -EPERM;
}

int top_cancel_force(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	return cancel(mount, row, cancel_any, said, len);
}

/* The priority that the name of a ticket shows: the row may be older than the last change. */
static int priority_of(const char *path, enum atlock_priority *out)
{
	const char *from = strrchr(path, '/');
	char name[16];

	from = from == NULL ? NULL : strchr(from, '-');
	if (from == NULL)
		return -EINVAL;
	(void)strlcpy(name, from + 1, sizeof(name));
	name[strcspn(name, "-")] = '\0';
	return atlock_priority_parse(name, out);
}

/* Returns the priority that the ticket has then. */
static int move(struct mount *mount, const struct top_row *row, int by)
{
	char from[ATLOCK_PATH_MAX];
	char to[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 32];
	enum atlock_priority priority = row->priority;
	int err = path_of_ticket(mount, row, true, from);
	int moved;

	if (err == 0)
		err = priority_of(from, &priority);
	if (err < 0)
		return err;
	moved = (int)priority + by;
	if (moved < ATLOCK_LOW || moved > ATLOCK_CRITICAL)
		return -ERANGE;
	(void)snprintf(to, sizeof(to), "queue/%s/%s@%s", row->lock, atlock_priority_name((enum atlock_priority)moved),
		       row->who);
	return renameat(mount->fd, from, mount->fd, to) == 0 ? moved : -errno;
}

static int move_and_say(struct mount *mount, const struct top_row *row, int by, char *said, size_t len)
{
	int err = mount_reopen(mount);

	if (err < 0) {
		top_gone_print(err, said, len);
		return err;
	}
	err = move(mount, row, by);
	if (err == -ERANGE)
		(void)snprintf(said, len, "no priority is %s than %s", by > 0 ? "higher" : "lower",
			       atlock_priority_name(by > 0 ? ATLOCK_CRITICAL : ATLOCK_LOW));
	else if (err < 0)
		say_refused(mount, row, err, said, len);
	else
		(void)snprintf(said, len, "%s@%s waits for %s with priority %s", row->owner, row->who, row->lock,
			       atlock_priority_name((enum atlock_priority)err));
	mount_close(mount);
	return err < 0 ? err : 0;
}

int top_raise(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	return move_and_say(mount, row, 1, said, len);
}

int top_lower(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	return move_and_say(mount, row, -1, said, len);
}

/* --- Looking at it --- */

char *top_details(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	char path[ATLOCK_PATH_MAX];
	char *text = malloc(DETAILS_MAX);
	FILE *file = NULL;
	size_t used;
	int err = mount_reopen(mount);

	if (err < 0 || text == NULL) {
		top_gone_print(err < 0 ? err : -ENOMEM, said, len);
		mount_close(mount);
		free(text);
		return NULL;
	}
	err = path_of_row(mount, row, path);
	if (err == 0) {
		file = mount_read(mount, path);
		err = file == NULL ? -errno : 0;
	}
	if (err < 0) {
		say_refused(mount, row, err, said, len);
		free(text);
		text = NULL;
	} else {
		used = (size_t)snprintf(text, DETAILS_MAX, "%s%s%s", row->id[0] != '\0' ? "lock=" : "",
					row->id[0] != '\0' ? row->lock : "", row->id[0] != '\0' ? "\n" : "");
		used += fread(text + used, 1, DETAILS_MAX - 1 - used, file);
		text[used] = '\0';
		fclose(file);
	}
	mount_close(mount);
	return text;
}
