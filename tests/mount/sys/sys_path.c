/* Calls that name a file by its path. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sys.h"

static const struct sys_word rename_words[] = {
	{ "", 0 },
	{ "noreplace", RENAME_NOREPLACE },
	{ "exchange", RENAME_EXCHANGE },
	{ NULL, 0 },
};

static const struct sys_word xattr_words[] = {
	{ "", 0 }, { "create", XATTR_CREATE }, { "replace", XATTR_REPLACE }, { NULL, 0 }
};

static int do_truncate(char **a)
{
	return truncate(a[0], (off_t)sys_number(a[1]));
}

/* utimens PATH ATIME MTIME: each now, omit, +SECONDS from now, or seconds since 1970. */
static int do_utimens(char **a)
{
	struct timespec times[2] = { sys_time(a[1]), sys_time(a[2]) };

	return utimensat(AT_FDCWD, a[0], times, 0);
}

static int do_unlink(char **a)
{
	return unlink(a[0]);
}

/* Makes and removes that many files, each of another name. */
static int do_cycle(char **a)
{
	char path[4096];

	for (long long i = 0, n = sys_number(a[1]); i < n; i++) {
		int made;

		snprintf(path, sizeof(path), "%s/%lld", a[0], i);
		made = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (made < 0 || close(made) != 0 || unlink(path) != 0)
			return -1;
	}
	return 0;
}

static int do_mkdir(char **a)
{
	return mkdir(a[0], sys_mode(a[1], 0777));
}

static int do_rmdir(char **a)
{
	return rmdir(a[0]);
}

static int do_rename(char **a)
{
	return renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], (unsigned int)sys_words(rename_words, a[2]));
}

static int do_link(char **a)
{
	return link(a[0], a[1]);
}

static int do_symlink(char **a)
{
	return symlink(a[0], a[1]);
}

static int do_mknod(char **a)
{
	mode_t type = strcmp(a[1], "fifo") == 0 ? S_IFIFO : strcmp(a[1], "socket") == 0 ? S_IFSOCK : S_IFREG;

	return mknod(a[0], type | 0644, 0);
}

static int do_stat(char **a)
{
	struct stat st;

	return stat(a[0], &st);
}

/* access PATH [r][w][x] */
static int do_access(char **a)
{
	int mode = (strchr(a[1], 'r') != NULL ? R_OK : 0) | (strchr(a[1], 'w') != NULL ? W_OK : 0) |
		   (strchr(a[1], 'x') != NULL ? X_OK : 0);

	return faccessat(AT_FDCWD, a[0], mode, AT_EACCESS);
}

static int do_setxattr(char **a)
{
	return setxattr(a[0], a[1], a[2], strlen(a[2]), sys_words(xattr_words, a[3]));
}

/* getxattr PATH NAME [ROOM] */
static int do_getxattr(char **a)
{
	static char value[1 << 16];
	ssize_t n = getxattr(a[0], a[1], value, a[2][0] == '\0' ? sizeof(value) : (size_t)sys_number(a[2]));

	if (n > 0)
		fwrite(value, 1, (size_t)n, stdout);
	return n < 0 ? -1 : fflush(stdout);
}

static int do_removexattr(char **a)
{
	return removexattr(a[0], a[1]);
}

const struct sys_step sys_path_steps[] = {
	{ "truncate", do_truncate, 2 },
	{ "utimens", do_utimens, 3 },
	{ "unlink", do_unlink, 1 },
	{ "cycle", do_cycle, 2 },
	{ "mkdir", do_mkdir, 1 },
	{ "rmdir", do_rmdir, 1 },
	{ "rename", do_rename, 2 },
	{ "link", do_link, 2 },
	{ "symlink", do_symlink, 2 },
	{ "mknod", do_mknod, 1 },
	{ "stat", do_stat, 1 },
	{ "access", do_access, 1 },
	{ "setxattr", do_setxattr, 3 },
	{ "getxattr", do_getxattr, 2 },
	{ "removexattr", do_removexattr, 2 },
	{ NULL, NULL, 0 },
};
