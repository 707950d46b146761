/*
 * The data file of a new store. It is made under another name and gets its own when it is whole and on disk: one that is
 * empty or not there is therefore never what a crash left of a store that was just begun, and can be refused. The log is made
 * after it, so that no crash leaves a log alone.
 */
#include "lmdb_new.h"

#include "file_new.h"
#include "lmdb_dir.h"

#include <errno.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
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

int lmdb_data_make(const struct lmdb_dir *dir, const char *where, size_t map_size)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", where, TEMPORARY) >= sizeof(path))
		return ENAMETOOLONG;
	int fd = file_new(dir->fd, TEMPORARY);
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
