#include "mountpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atlock.h>
#include <atlock/program.h>

#include "complain.h"
#include "unmount.h"

#define DEAF_MS 10000 /* after which a mount is taken for one that will not answer */

static const char *remember_name(void)
{
	return geteuid() == 0 ? "trusted.atlockfs.mode" : "user.atlockfs.mode";
}

static int complain_dead(const char *path)
{
	char text[ATLOCK_PATH_MAX];

	(void)snprintf(text, sizeof(text),
		       "the mount of a daemon that died is still there: run 'fusermount3 -uz %s', then try again",
		       path);
	return complain(path, text);
}

static int complain_deaf(const char *path)
{
	char text[ATLOCK_PATH_MAX];

	(void)snprintf(text, sizeof(text),
		       "a mount is there that does not answer: let its daemon go on if it is stopped (kill -CONT); "
		       "if it was killed, run 'umount -l -f %s' as root, then try again",
		       path);
	return complain(path, text);
}

/* A call that is not answered cannot be given up, so another process makes it. Its end closes the pipe. */
static bool mount_answers(const char *path)
{
	struct stat st;
	int ends[2];
	bool answers;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return true;
	child = fork();
	if (child == 0)
		_exit(stat(path, &st) != 0);
	close(ends[1]);
	answers = child < 0 || poll(&(struct pollfd){ .fd = ends[0] }, 1, DEAF_MS) != 0;
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		(void)waitpid(child, NULL, answers ? 0 : WNOHANG);
	}
	return answers;
}

/* Best effort: overlayfs and others do not support the flag. */
static bool is_immutable(int fd)
{
	int flags = 0;

	return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_IMMUTABLE_FL) != 0;
}

static void set_immutable(int fd, bool on)
{
	int flags = 0;

	if (geteuid() != 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
		return;
	if (((flags & FS_IMMUTABLE_FL) != 0) == on)
		return;
	flags ^= FS_IMMUTABLE_FL;
	(void)!ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* Finds the state to restore: what a daemon that crashed has stored, else the present one. */
static void remember(struct mountpoint *mp, const struct stat *st)
{
	char text[16] = "";
	char *end;

	if (fgetxattr(mp->fd, remember_name(), text, sizeof(text) - 1) <= 0) {
		mp->mode = st->st_mode & 07777U;
		mp->immutable = is_immutable(mp->fd);
		return;
	}
	mp->mode = (mode_t)strtoul(text, &end, 8) & 07777U;
	mp->immutable = *end == 'i';
}

static int check_empty(int fd, const char *path)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	bool empty = true;

	if (dir == NULL)
		return complain(path, strerror(errno));
	while ((entry = readdir(dir)) != NULL)
		empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
	closedir(dir);
	return empty ? 0 : complain(path, "is not empty; mount on an empty directory");
}

static bool is_mount(int fd, const struct stat *st)
{
	struct stat above;

	return fstatat(fd, "..", &above, 0) == 0 && above.st_dev != st->st_dev;
}

/* Checks whether the directory can be mounted on; prints what is wrong. */
static int check(struct mountpoint *mp, const char *path)
{
	struct stat st;

	if (mp->fd < 0 || fstat(mp->fd, &st) != 0)
		return errno == ENOTCONN ? complain_dead(path) : complain(path, strerror(errno));
	if (is_mount(mp->fd, &st))
		return complain(path, "something is mounted there already");
	if (check_empty(mp->fd, path) < 0)
		return -1;
	remember(mp, &st);
	if (geteuid() != 0 && st.st_uid == geteuid() && (st.st_mode & S_IWUSR) == 0)
		(void)!fchmod(mp->fd, mp->mode | S_IRWXU);
	return 0;
}

int mountpoint_open(struct mountpoint *mp, const char *path)
{
	mp->fd = -1;
	if (realpath(path, mp->path) == NULL)
		return errno == ENOTCONN ? complain_dead(path)
		       : errno == ENOENT ? complain(path, "No such file or directory: mkdir it first")
					 : complain(path, strerror(errno));
	if (unmount_remains(mp->path) && !mount_answers(mp->path))
		return complain_deaf(path);
	mp->fd = open(mp->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (check(mp, path) == 0)
		return 0;
	mountpoint_close(mp);
	return -1;
}

void mountpoint_protect(const struct mountpoint *mp)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%04o%s", mp->mode, mp->immutable ? "i" : "");

	set_immutable(mp->fd, false);
	(void)!fsetxattr(mp->fd, remember_name(), text, (size_t)len, 0);
	if (fchmod(mp->fd, 0555) != 0)
		atlock_log(ATLOCK_LOG_WARNING, "%s: cannot make the directory underneath unwritable: %s", mp->path,
			   strerror(errno));
	set_immutable(mp->fd, true);
}

void mountpoint_restore(const struct mountpoint *mp)
{
	set_immutable(mp->fd, false);
	(void)!fchmod(mp->fd, mp->mode);
	(void)!fremovexattr(mp->fd, remember_name());
	set_immutable(mp->fd, mp->immutable);
}

void mountpoint_close(struct mountpoint *mp)
{
	if (mp->fd >= 0)
		close(mp->fd);
	mp->fd = -1;
}
