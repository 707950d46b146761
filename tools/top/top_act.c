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

/* "<rank>-<priority>-<number>-<owner>@<who>": the rank changes while others come and go. */
static bool is_ticket(const char *name, uint64_t number)
{
	const char *priority = strchr(name, '-');
	const char *at = priority == NULL ? NULL : strchr(priority + 1, '-');
	char *end;

	return at != NULL && strtoull(at + 1, &end, 10) == number && *end == '-';
}

static int path_of_ticket(const struct mount *mount, const struct top_row *row, char out[ATLOCK_PATH_MAX])
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
	while ((entry = readdir(dir)) != NULL && !is_ticket(entry->d_name, row->ticket))
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
	return row->id[0] != '\0' ? path_of_lock(mount, row, out) : path_of_ticket(mount, row, out);
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

static int move(const struct mount *mount, const struct top_row *row, const char *path, const char *priority)
{
	char to[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 32];

	(void)snprintf(to, sizeof(to), "queue/%s/%s@%s", row->lock, priority, row->who);
	return renameat(mount->fd, path, mount->fd, to) == 0 ? 0 : -errno;
}

static int move_up(const struct mount *mount, const struct top_row *row, const char *path)
{
	return move(mount, row, path, atlock_priority_name(row->priority + 1));
}

static int move_down(const struct mount *mount, const struct top_row *row, const char *path)
{
	return move(mount, row, path, atlock_priority_name(row->priority - 1));
}

static void say_moved(const struct top_row *row, enum atlock_priority priority, char *said, size_t len)
{
	(void)snprintf(said, len, "%s@%s waits for %s with priority %s", row->owner, row->who, row->lock,
		       atlock_priority_name(priority));
}

int top_raise(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	int err = row->priority == ATLOCK_CRITICAL ? -ERANGE : act(mount, row, move_up, said, len);

	if (err == -ERANGE)
		(void)snprintf(said, len, "no priority is higher than %s", atlock_priority_name(row->priority));
	else if (err == 0)
		say_moved(row, row->priority + 1, said, len);
	return err;
}

int top_lower(struct mount *mount, const struct top_row *row, char *said, size_t len)
{
	int err = row->priority == ATLOCK_LOW ? -ERANGE : act(mount, row, move_down, said, len);

	if (err == -ERANGE)
		(void)snprintf(said, len, "no priority is lower than %s", atlock_priority_name(row->priority));
	else if (err == 0)
		say_moved(row, row->priority - 1, said, len);
	return err;
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
