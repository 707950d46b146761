/*
 * One process at a time, whatever is done to its files.
 *
 * The writing process locks both the directory (lmdb_dir.c) and the data file: the directory stays locked when files
 * are removed and put back, the data file when it is linked into another directory. Other programs' LMDB knows neither
 * lock, but opens lock.mdb first: that file is kept empty and locked, so that LMDB cannot begin. Our own table of
 * readers is elsewhere, see lmdb_table.c.
 *
 * Locks bind only the programs that ask for them. So before each commit, and now and then before a read, the process
 * checks whether the files are still those that it opened and contain what it wrote. If not, two daemons may grant one
 * lock: no request is answered any more until the store is opened again.
 */
#include "lmdb_guard.h"

#include "commit_log.h"
#include "engine_refuse.h"
#include "engine_time.h"
#include "layer.h"
#include "lmdb_dir.h"
#include "lmdb_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_EVERY INT64_C(100000000) /* ns between checks if nothing waits for the disk */

int lmdb_guard_data(struct engine *engine, const char *path, char *why, size_t whylen)
{
	struct lmdb_dir *dir = &engine->dir;
	int how = engine->readonly ? O_RDONLY : O_RDWR;
	struct stat st;

	dir->data = openat(dir->fd, LMDB_DATA_FILE, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (dir->data < 0 || fstat(dir->data, &st) < 0)
		return store_refuse(why, whylen, -errno, "store %s: %s: %s", path, LMDB_DATA_FILE, strerror(errno));
	dir->data_dev = st.st_dev;
	dir->data_ino = st.st_ino;
	return engine->readonly ? 0 : lmdb_lock(dir, dir->data, LMDB_DATA_FILE, path, why, whylen);
}

/* --- Other programs' LMDB --- */

/* The byte that LMDB locks while it has an environment open. */
static int foreign_lock(int fd, int command, short type, struct flock *lock)
{
	*lock = (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
	return fcntl(fd, command, lock);
}

static int foreign_refuse(const char *path, char *why, size_t whylen)
{
	return store_refuse(
		why, whylen, -EBUSY,
		"store %s: %s is locked: an older version of this program, or another one with LMDB, has the "
		"store open (fuser -v %s/%s names it): end that first",
		path, LMDB_FOREIGN_FILE, path, LMDB_FOREIGN_FILE);
}

/* For a readonly store: another program would not know of this reader, and reuse pages that it reads. */
static int foreign_look(const struct lmdb_dir *dir, const char *path, char *why, size_t whylen)
{
	int fd = openat(dir->fd, LMDB_FOREIGN_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = { .l_type = F_UNLCK };
	struct stat st;

	if (fd < 0)
		return 0;
	bool locked = fstat(fd, &st) == 0 && st.st_size > 0 && foreign_lock(fd, F_OFD_GETLK, F_WRLCK, &lock) == 0 &&
		      lock.l_type != F_UNLCK;
	close(fd);
	return locked ? foreign_refuse(path, why, whylen) : 0;
}

int lmdb_guard_foreign(struct engine *engine, const char *path, char *why, size_t whylen)
{
	struct lmdb_dir *dir = &engine->dir;
	struct flock lock;

	if (engine->readonly)
		return foreign_look(dir, path, why, whylen);
	dir->foreign = openat(dir->fd, LMDB_FOREIGN_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	/* A full disk must not keep the store from being opened; no other program can make that file there either. */
	if (dir->foreign < 0 && (errno == ENOSPC || errno == EDQUOT))
		return 0;
	if (dir->foreign < 0)
		return store_refuse(why, whylen, -errno, "store %s: %s: %s", path, LMDB_FOREIGN_FILE, strerror(errno));
	if (foreign_lock(dir->foreign, F_OFD_SETLK, F_WRLCK, &lock) < 0)
		return foreign_refuse(path, why, whylen);
	/*
	 * LMDB waits for an exclusive lock to end, but with a shared lock on a file without a table it fails at once.
	 */
	if (ftruncate(dir->foreign, 0) < 0 || foreign_lock(dir->foreign, F_OFD_SETLK, F_RDLCK, &lock) < 0)
		return store_refuse(why, whylen, -errno, "store %s: %s: %s", path, LMDB_FOREIGN_FILE, strerror(errno));
	return 0;
}

/* --- Checking --- */

static bool dir_is_there(const struct lmdb_dir *dir)
{
	struct stat st;

	if (dir->path == NULL)
		return true;
	if (stat(dir->path, &st) < 0)
		return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
	return st.st_dev == dir->dev && st.st_ino == dir->ino;
}

static bool data_is_there(const struct engine *engine)
{
	const struct lmdb_dir *dir = &engine->dir;
	uint64_t used = atomic_load_explicit(&engine->space_used, memory_order_relaxed);
	struct stat st;

	if (fstatat(dir->fd, LMDB_DATA_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT;
	return st.st_dev == dir->data_dev && st.st_ino == dir->data_ino && (uint64_t)st.st_size >= used;
}

/*
 * Whether LMDB's newest transaction is one of this process. While the leader makes one, the newest is unknown; if the
 * leader began or ended one meanwhile, the values compared do not belong together.
 */
static bool newest_is_ours(struct engine *engine)
{
	unsigned int turn = atomic_load(&engine->turn);
	MDB_envinfo info;

	if (turn % 2 != 0)
		return true;
	pthread_mutex_lock(&engine->pool_lock);
	uint64_t base = engine->layer->base;
	bool given = engine->layer->next != 0;
	pthread_mutex_unlock(&engine->pool_lock);
	if (mdb_env_info(engine->env, &info) != 0)
		return true;
	uint64_t newest = info.me_last_txnid;
	return newest == base || (given && newest == base + 1) || atomic_load(&engine->turn) != turn;
}

void lmdb_guard_trip(struct engine *engine)
{
	atomic_store(&engine->changed, true);
	atomic_store(&engine->lost, true);
}

static bool look(struct engine *engine)
{
	bool ours = dir_is_there(&engine->dir) && data_is_there(engine) && commit_log_is_there(&engine->log) &&
		    newest_is_ours(engine);

	if (!ours)
		lmdb_guard_trip(engine);
	return ours;
}

static bool is_due(struct engine *engine)
{
	int64_t last = atomic_load_explicit(&engine->looked, memory_order_relaxed);
	int64_t now = engine_time(CLOCK_MONOTONIC_COARSE);

	return now - last >= LOOK_EVERY && atomic_compare_exchange_strong(&engine->looked, &last, now);
}

bool lmdb_guard_holds(struct engine *engine, bool always)
{
	if (atomic_load_explicit(&engine->changed, memory_order_relaxed))
		return false;
	return (!always && !is_due(engine)) || look(engine);
}
