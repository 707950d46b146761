/*
 * A copy of the store as one transaction sees it, made while others read and write: every key in order into a new file, which
 * is therefore compact and has no log. The file gets its name when it is whole and on disk.
 */
#include "lmdb_copy.h"

#include "file_new.h"
#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_new.h"
#include "lmdb_view.h"
#include "txn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA_FILE LMDB_DATA_FILE
#define PART_FILE LMDB_DATA_FILE ".part"
#define BATCH 20000 /* records in a transaction of the copy */
#define MARGIN ((size_t)64 * 1024 * 1024)

struct copy {
	struct engine *engine;
	const char *path; /* of the new file */
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	size_t count; /* of records in the transaction */
};

static int batch_begin(struct copy *copy)
{
	int rc = mdb_txn_begin(copy->env, NULL, 0, &copy->txn);

	copy->count = 0;
	return rc == 0 ? mdb_dbi_open(copy->txn, NULL, 0, &copy->dbi) : rc;
}

static int batch_commit(struct copy *copy)
{
	MDB_txn *txn = copy->txn;

	copy->txn = NULL;
	return mdb_txn_commit(txn);
}

static int record_copy(struct copy *copy, struct slice key, struct slice value)
{
	MDB_val k = { .mv_size = key.len, .mv_data = (void *)(uintptr_t)key.data };
	MDB_val v = { .mv_size = value.len, .mv_data = (void *)(uintptr_t)value.data };
	int rc = mdb_put(copy->txn, copy->dbi, &k, &v, MDB_APPEND);

	if (rc == 0 && ++copy->count == BATCH) {
		rc = batch_commit(copy);
		if (rc == 0)
			rc = batch_begin(copy);
	}
	return rc;
}

/* Negative errnos. */
static int copy_in_view(struct store_txn *txn, void *arg)
{
	unsigned char from[STORE_KEY_MAX + 1] = { 0 };
	struct slice next = { from, 1 };
	struct copy *copy = arg;
	struct slice value;
	struct slice key;
	int rc;

	while ((rc = store_next(txn, next, (struct slice){ NULL, 0 }, &key, &value)) == 0) {
		rc = record_copy(copy, key, value);
		if (rc != 0)
			return lmdb_errno(rc);
		memcpy(from, key.data, key.len);
		from[key.len] = 0;
		next.len = key.len + 1;
	}
	return rc < 0 ? rc : 0;
}

static int copy_run(struct copy *copy)
{
	MDB_envinfo info;
	int rc = mdb_env_info(copy->engine->env, &info);

	if (rc == 0)
		rc = mdb_env_create(&copy->env);
	if (rc == 0)
		rc = mdb_env_set_mapsize(copy->env, info.me_mapsize + MARGIN);
	if (rc == 0)
		rc = mdb_env_open(copy->env, copy->path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600);
	if (rc == 0)
		rc = batch_begin(copy);
	if (rc != 0)
		return lmdb_errno(rc);
	rc = lmdb_view(copy->engine, copy_in_view, copy);
	if (rc < 0)
		return rc;
	rc = batch_commit(copy);
	if (rc == 0)
		rc = mdb_env_sync(copy->env, 1);
	return lmdb_errno(rc);
}

static void copy_close(struct copy *copy)
{
	if (copy->txn != NULL)
		mdb_txn_abort(copy->txn);
	if (copy->env != NULL)
		mdb_env_close(copy->env);
}

/* 0, -ENOTEMPTY, or another negative errno. */
static int target_check(int fd)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	int rc = 0;

	if (dir == NULL) {
		rc = -errno;
		close(fd);
		return rc;
	}
	while (rc == 0 && (entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = -ENOTEMPTY;
	closedir(dir);
	return rc;
}

/* Root gives the copy to the owner of the directory, because the daemon that will use it may run as that user. */
static int target_finish(int dir)
{
	struct stat st;

	if (geteuid() == 0 && (fstat(dir, &st) < 0 || fchownat(dir, PART_FILE, st.st_uid, st.st_gid, 0) < 0))
		return -errno;
	if (renameat(dir, PART_FILE, dir, DATA_FILE) < 0 || fsync(dir) < 0)
		return -errno;
	return 0;
}

int lmdb_copy(struct engine *engine, const char *to)
{
	char path[PATH_MAX];
	struct copy copy = { .engine = engine, .path = path };
	int rc;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", to, PART_FILE) >= sizeof(path))
		return -ENAMETOOLONG;
	if (mkdir(to, 0700) < 0 && errno != EEXIST)
		return -errno;
	int dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	int again = dup(dir);
	rc = again < 0 ? -errno : target_check(again);
	if (rc == 0) {
		int part = file_new(dir, PART_FILE);

		if (part >= 0)
			close(part);
		rc = part < 0 ? part : copy_run(&copy);
		copy_close(&copy);
		if (rc == 0)
			rc = target_finish(dir);
		if (rc < 0)
			(void)unlinkat(dir, PART_FILE, 0);
	}
	close(dir);
	return rc;
}
