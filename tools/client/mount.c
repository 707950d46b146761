#include "mount.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "moment.h"

#define TYPE "fuse.atlockfs"
#define ROOT_INODE 1 /* of a FUSE file system; no other node of ours has it */

/* Undoes the \040 spelling of the mount table, in place. */
static void unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in != '\0'; in++) {
		if (in[0] == '\\' && strspn(in + 1, "01234567") >= 3) {
			*out++ = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 3;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
}

/* Takes a line of the mount table apart: the mount point, if it is one of ours, else NULL. */
static char *line_mount(char *line)
{
	char *type = strstr(line, " - ");
	char *field = NULL;
	char *left = line;

	if (type == NULL)
		return NULL;
	*type = '\0';
	type += strlen(" - ");
	if (strcspn(type, " ") != strlen(TYPE) || strncmp(type, TYPE, strlen(TYPE)) != 0)
		return NULL;
	for (int i = 0; i < 5; i++)
		field = strsep(&left, " ");
	if (field != NULL)
		unescape(field);
	return field;
}

typedef int table_fn(void *arg, const char *path);

/* Calls `fn` with each mount point of ours until it returns non-zero. */
static int table_each(table_fn *fn, void *arg)
{
	FILE *table = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	int stop = 0;

	if (table == NULL)
		return -errno;
	while (stop == 0 && getline(&line, &size, table) > 0) {
		const char *path = line_mount(line);

		if (path != NULL)
			stop = fn(arg, path);
	}
	free(line);
	fclose(table);
	return stop;
}

/*
 * Whether a directory is the root of one of ours: 1, 0, or the negative errno of a dead or closed one. It does not
 * ask the mount table: not every chroot has /proc.
 */
static int mount_is_root(const char *path)
{
	static const char *const files[] = { "health", "why", "locks.jsonl" };
	struct statfs fs = { .f_type = 0 };
	struct stat st = { .st_ino = 0 };
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 || fstatfs(fd, &fs) != 0 || fstat(fd, &st) != 0 ? -errno : 0;

	for (size_t i = 0; err == 0 && i < sizeof(files) / sizeof(files[0]); i++)
		err = faccessat(fd, files[i], F_OK, 0) == 0 ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	if (err == 0)
		return fs.f_type == FUSE_SUPER_MAGIC && st.st_ino == ROOT_INODE;
	return err == -ENOENT || err == -ENOTDIR ? 0 : err;
}

/* The mount that a directory is in, by climbing up from it, which needs no table. */
static bool mount_around(const char *dir, char out[PATH_MAX])
{
	if (dir == NULL || strlcpy(out, dir, PATH_MAX) >= PATH_MAX)
		return false;
	while (mount_is_root(out) != 1) {
		char *slash = strrchr(out, '/');

		if (slash == NULL || strcmp(out, "/") == 0)
			return false;
		slash[slash == out] = '\0';
	}
	return true;
}

static const char *below(const char *root, const char *path)
{
	size_t len = strlen(root);

	if (len == 0 || strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path[len] == '/' ? path + len + 1 : path + len;
}

const char *mount_below(const struct mount *mount, const char *path)
{
	return below(mount->path, path);
}

/* The mounts that the caller may use; a private mount of another user is not among them. */
struct found {
	char *here;        /* where the caller is, or NULL */
	char in[PATH_MAX]; /* the innermost mount that this is in, or "" */
	unsigned int count;
	char path[PATH_MAX];
	char all[1024]; /* every path, for a message */
};

/*
 * Whether the path of a mount leads the caller nowhere: it is closed to him, or its owner has moved it deeper than a path
 * can be long, or something is mounted over it. A mount that is reached and does not answer is not of this kind: it may
 * be the one that the caller means, and another must not be used in its place.
 */
static bool out_of_reach(const char *path)
{
	if (access(path, F_OK) == 0)
		return false;
	return errno == EACCES || errno == ENAMETOOLONG || errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

static int found_mount(void *arg, const char *path)
{
	struct found *found = arg;

	if (strcmp(found->path, path) == 0 || out_of_reach(path))
		return 0;
	strlcpy(found->path, path, sizeof(found->path));
	strlcat(found->all, found->count == 0 ? "" : ", ", sizeof(found->all));
	strlcat(found->all, path, sizeof(found->all));
	found->count++;
	if (found->here != NULL && below(path, found->here) != NULL && strlen(path) > strlen(found->in))
		strlcpy(found->in, path, sizeof(found->in));
	return 0;
}

struct list {
	char **paths;
	size_t count;
	size_t room;
};

static int list_add(void *arg, const char *path)
{
	struct list *list = arg;
	char **paths;

	if (out_of_reach(path))
		return 0;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->paths[i], path) == 0)
			return 0;
	paths = tool_grow(list->paths, list->count + 1, &list->room, sizeof(*paths));
	if (paths == NULL)
		return -ENOMEM;
	list->paths = paths;
	paths[list->count] = strdup(path);
	if (paths[list->count] == NULL)
		return -ENOMEM;
	paths[++list->count] = NULL;
	return 0;
}

char **mount_list(void)
{
	struct list list = { .paths = calloc(1, sizeof(char *)), .room = 1 };

	if (list.paths == NULL || table_each(list_add, &list) == 0)
		return list.paths;
	mount_list_free(list.paths);
	return NULL;
}

void mount_list_free(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

static int mount_search(const struct tool *tool, struct mount *out)
{
	struct found found = { .here = getcwd(NULL, 0) };
	int err = table_each(found_mount, &found);
	bool inside = err < 0 && mount_around(found.here, out->path);

	free(found.here);
	if (inside)
		return EXIT_DONE;
	if (err < 0)
		return tool_fail(tool, EXIT_UNAVAILABLE,
				 "/proc/self/mountinfo: %s: choose a mount with -m DIR or ATLOCKFS=DIR",
				 strerror(-err));
	if (found.count == 0)
		return tool_fail(tool, EXIT_UNAVAILABLE, "no atlockfs is mounted here; see atlockfs(8)");
	if (found.count > 1 && found.in[0] == '\0')
		return tool_fail(tool, EXIT_USAGE, "%u are mounted (%s): choose one with -m DIR or ATLOCKFS=DIR",
				 found.count, found.all);
	strlcpy(out->path, found.count > 1 ? found.in : found.path, sizeof(out->path));
	return EXIT_DONE;
}

static int fail_open(const struct tool *tool, const char *path, int err)
{
	if (err == ENOTCONN || err == ECONNABORTED)
		return tool_fail(tool, EXIT_UNAVAILABLE,
				 "%s: the daemon is dead: unmount it (fusermount3 -uz %s) and mount it again", path,
				 path);
	return tool_fail(tool, EXIT_UNAVAILABLE, "%s: %s", path, strerror(err));
}

int mount_open(struct tool *tool, struct mount *out)
{
	const char *given = tool->mount != NULL ? tool->mount : getenv("ATLOCKFS");
	int code;
	int err;

	out->fd = -1;
	out->opened = moment_steady();
	if (given != NULL && given[0] != '\0') {
		if (realpath(given, out->path) == NULL)
			return fail_open(tool, given, errno);
		err = mount_is_root(out->path);
		if (err < 0)
			return fail_open(tool, given, -err);
		if (err == 0)
			return tool_fail(tool, EXIT_UNAVAILABLE, "%s: no atlockfs is mounted there", given);
	} else {
		code = mount_search(tool, out);
		if (code != EXIT_DONE)
			return code;
	}
	out->fd = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->fd < 0 || faccessat(out->fd, "health", R_OK, 0) != 0) {
		err = errno;
		mount_close(out);
		return fail_open(tool, out->path, err);
	}
	return EXIT_DONE;
}

void mount_close(struct mount *mount)
{
	if (mount->fd >= 0)
		close(mount->fd);
	mount->fd = -1;
}

int mount_reopen(struct mount *mount)
{
	int fd = open(mount->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	/* Between two daemons the directory under the mount is visible. */
	if (faccessat(fd, "health", R_OK, 0) != 0) {
		err = -errno;
		close(fd);
		return err;
	}
	mount_close(mount);
	mount->fd = fd;
	return 0;
}

void mount_why(const struct mount *mount, char *out, size_t len)
{
	FILE *file = mount_read(mount, "why");
	char line[1024];
	const char *text;
	char *age;
	long seconds = 0;

	out[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		age = strrchr(line, '(');
		if (age != NULL && age > line) {
			seconds = strtol(age + 1, NULL, 10);
			age[-1] = '\0';
		}
		text = strstr(line, ": ");
		if (seconds <= (moment_steady() - mount->opened) / ATLOCK_SECOND + 1 &&
		    strncmp(line, "OK: ", strlen("OK: ")) != 0)
			strlcpy(out, text == NULL ? line : text + 2, len);
	}
	fclose(file);
}

bool mount_advises(const struct mount *mount, enum atlock_advice advice)
{
	char word[32];

	return mount_field(mount, "why", "advice", word, sizeof(word)) && strcmp(word, atlock_advice_name(advice)) == 0;
}

/* Administrators are root, which alone may write this file, and the members of a group. */
bool mount_admin(const struct mount *mount)
{
	char name[256];
	gid_t groups[1024];
	const struct group *group;
	int n = getgroups(sizeof(groups) / sizeof(groups[0]), groups);

	mount_line(mount, "config/admin_group", name, sizeof(name));
	if (faccessat(mount->fd, "config/admin_group", W_OK, AT_EACCESS) == 0)
		return true;
	group = name[0] == '\0' ? NULL : getgrnam(name);
	for (int i = 0; group != NULL && i < n; i++)
		if (groups[i] == group->gr_gid)
			return true;
	return group != NULL && group->gr_gid == getegid();
}

int mount_complain(const struct tool *tool, const struct mount *mount, int code, const char *path, int err)
{
	char why[1024];

	mount_why(mount, why, sizeof(why));
	return tool_fail(tool, code, "%s: %s%s%s", path, strerror(err), why[0] == '\0' ? "" : ": ", why);
}
