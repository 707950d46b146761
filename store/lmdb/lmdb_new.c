/*
 * The data file of a new store. It is made under another name and gets its own when it is whole and on disk: one that is
 * empty or not there is therefore never what a crash left of a store that was just begun, and can be refused. The log is made
 * after it, so that no crash leaves a log alone.
 */
#include "lmdb_new.h"

#include "lmdb_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <lmdb.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TEMPORARY LMDB_DATA_FILE ".new"

/* 0 or an LMDB code. */
static int file_write(const char *path, size_t map_size)
{
	MDB_env *env;
	int rc = mdb_env_create(&env);

	if (rc != 0)
		return rc;
	rc = mdb_env_set_mapsize(env, map_size);
	if (rc == 0)
		rc = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK, 0600);
	if (rc == 0)
		rc = mdb_env_sync(env, 1);
	mdb_env_close(env);
	return rc;
}

/*
 * Where a file system copies what is written over (btrfs), a full disk would refuse every change of what is there already. That
 * is up to the file as long as it is empty; file systems without such a choice refuse the call, and need none.
 */
static void write_in_place(int fd)
{
	int flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_NOCOW_FL) == 0) {
		flags |= FS_NOCOW_FL;
		(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
}

int lmdb_file_make(int dir, const char *name)
{
	/* What an earlier try left is not to be gone on with. */
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return -errno;
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	write_in_place(fd);
	return fd;
}

int lmdb_data_make(const struct lmdb_dir *dir, const char *where, size_t map_size)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", where, TEMPORARY) >= sizeof(path))
		return ENAMETOOLONG;
	int fd = lmdb_file_make(dir->fd, TEMPORARY);
	if (fd < 0)
		return -fd;
	close(fd);
	int rc = file_write(path, map_size);
	if (rc == 0 && (renameat(dir->fd, TEMPORARY, dir->fd, LMDB_DATA_FILE) < 0 || fsync(dir->fd) < 0))
		rc = errno;
	if (rc != 0)
		(void)unlinkat(dir->fd, TEMPORARY, 0);
	return rc;
}
