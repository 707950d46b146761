/*
 * Opening LMDB's environment.
 *
 * LMDB keeps its table of readers and its mutexes in a file that it maps and writes to all the time. mmap'ed writes report no error: on a file system that copies what is written, a full disk would be the end of the process (SIGBUS). Only
 * the process that writes has that table, so it is in memory: a file of tmpfs, with all of its pages, that has no name any more
 * when it is open. Processes that only read have none; how the writer knows of them is in lmdb_readers.c.
 *
 * LMDB opens both files by a path. The data file's leads to the descriptor that was checked and locked, not to its name again.
 */
#include "lmdb_table.h"

#include "lmdb_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define FLAGS (MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD)
#define TABLE_SIZE ((off_t)(LMDB_READERS + 8) * 64) /* a line of the cache for each reader, and some for the head */

/* Through /proc, or where there is none by the name. */
static bool data_path(const struct lmdb_dir *dir, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "/proc/self/fd/%d", dir->data);
	if (access(path, F_OK) == 0)
		return true;
	return dir->path != NULL && (size_t)snprintf(path, PATH_MAX, "%s/%s", dir->path, LMDB_DATA_FILE) < PATH_MAX;
}

/* Names for both files in a directory of its own, which `path` becomes that of. Its descriptor, or -1 and errno. */
static int names_make(char path[PATH_MAX], const char *data)
{
	if (mkdtemp(path) == NULL)
		return -1;
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int table = dir < 0 ? -1 : openat(dir, "data-lock", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = table < 0 ? errno : posix_fallocate(table, 0, TABLE_SIZE);
	if (err == 0 && symlinkat(data, dir, "data") < 0)
		err = errno;
	if (table >= 0)
		close(table);
	if (err == 0)
		return dir;
	if (dir >= 0) {
		(void)unlinkat(dir, "data-lock", 0);
		close(dir);
	}
	(void)rmdir(path);
	errno = err;
	return -1;
}

static void names_remove(int dir, const char *path)
{
	(void)unlinkat(dir, "data", 0);
	(void)unlinkat(dir, "data-lock", 0);
	close(dir);
	(void)rmdir(path);
}

static bool is_memory(const char *place)
{
	struct statfs fs;

	return statfs(place, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* Where there is no tmpfs, the table is on the store's disk. */
static int names_place(const struct lmdb_dir *dir, const char *data, char path[PATH_MAX])
{
	static const char *const places[] = { "/dev/shm", "/run", "/tmp" };
	static const char name[] = "atlockfs.XXXXXX";

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(path, PATH_MAX, "%s/%s", places[i], name);
		int fd = is_memory(places[i]) ? names_make(path, data) : -1;
		if (fd >= 0)
			return fd;
	}
	if (dir->path == NULL || (size_t)snprintf(path, PATH_MAX, "%s/%s", dir->path, name) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return names_make(path, data);
}

static int env_open(struct engine *engine, const char *data)
{
	char path[PATH_MAX];
	char link[PATH_MAX + sizeof("/data")];
	int names = names_place(&engine->dir, data, path);

	if (names < 0)
		return errno;
	(void)snprintf(link, sizeof(link), "%s/data", path);
	int rc = mdb_env_open(engine->env, link, FLAGS, 0600);
	names_remove(names, path);
	return rc;
}

int lmdb_table_open(struct engine *engine)
{
	char data[PATH_MAX];
	struct stat st;
	int fd;

	if (!data_path(&engine->dir, data))
		return ENAMETOOLONG;
	int rc = engine->readonly ? mdb_env_open(engine->env, data, FLAGS | MDB_NOLOCK | MDB_RDONLY, 0600)
				  : env_open(engine, data);
	if (rc != 0)
		return rc;
	if (mdb_env_get_fd(engine->env, &fd) != 0 || fstat(fd, &st) < 0)
		return EIO;
	/* LMDB leaves this one to programs that are started. */
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return st.st_dev == engine->dir.data_dev && st.st_ino == engine->dir.data_ino ? 0 : ESTALE;
}
