/*
 * The directory a store lives in: made, checked for what LMDB cannot stand, and owned by one process at a time through a
 * lock on owner.pid.
 */
#include "lmdb_engine.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define OWNER_FILE "owner.pid"

/* LMDB maps the file and locks through shared memory: neither works between hosts. */
static const struct {
	unsigned long type;
	const char *name;
} remote[] = {
	{ 0x6969, "NFS" },      { 0x517B, "SMB" },     { 0xFF534D42, "CIFS" },   { 0xFE534D42, "SMB" },
	{ 0x01021997, "9p" },   { 0x5346414F, "AFS" }, { 0x6B414653, "AFS" },    { 0x00C36400, "Ceph" },
	{ 0x73757245, "Coda" }, { 0x564C, "NCP" },     { 0x0BD00BD0, "Lustre" }, { 0x47504653, "GPFS" },
};

/*
 * LMDB keeps fcntl locks, which are the process's: opening an environment twice and closing one of them would drop the
 * locks of the other without a word.
 */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, lmdb_dir) open_dirs = LIST_HEAD_INITIALIZER(open_dirs);

static bool dir_register(struct lmdb_dir *dir)
{
	struct lmdb_dir *other;

	pthread_mutex_lock(&open_lock);
	LIST_FOREACH(other, &open_dirs, link) {
		if (other->dev == dir->dev && other->ino == dir->ino)
			break;
	}
	if (other == NULL)
		LIST_INSERT_HEAD(&open_dirs, dir, link);
	pthread_mutex_unlock(&open_lock);
	return other == NULL;
}

static void dir_unregister(struct lmdb_dir *dir)
{
	pthread_mutex_lock(&open_lock);
	LIST_REMOVE(dir, link);
	pthread_mutex_unlock(&open_lock);
}

/* mkdir -p; only what is missing is made. */
static int dir_make(const char *path)
{
	char part[PATH_MAX];

	if (strlcpy(part, path, sizeof(part)) >= sizeof(part))
		return -ENAMETOOLONG;
	for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(part, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int dir_check(struct lmdb_dir *dir, const char *path, char *why, size_t whylen)
{
	struct statfs fs;
	struct stat st;

	if (fstat(dir->fd, &st) < 0 || fstatfs(dir->fd, &fs) < 0)
		return store_refuse(why, whylen, -errno, "store %s: %s", path, strerror(errno));
	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
		if ((unsigned long)fs.f_type == remote[i].type)
			return store_refuse(
				why, whylen, -EOPNOTSUPP,
				"store %s is on a %s file system, which LMDB cannot use: choose a directory on a "
				"local disk",
				path, remote[i].name);
	}
	dir->dev = st.st_dev;
	dir->ino = st.st_ino;
	return 0;
}

/* Names whoever holds the lock on owner.pid, as far as it can be known. */
static int owner_refuse(int fd, const char *path, char *why, size_t whylen)
{
	char text[32] = "";
	char comm[64] = "";
	char file[64];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	long long pid = strtonum(text, 1, INT_MAX, NULL);
	if (pid > 0) {
		(void)snprintf(file, sizeof(file), "/proc/%lld/comm", pid);
		int proc = open(file, O_RDONLY | O_CLOEXEC);
		n = proc < 0 ? -1 : read(proc, comm, sizeof(comm) - 1);
		comm[n > 0 ? n : 0] = 0;
		comm[strcspn(comm, "\n")] = 0;
		if (proc >= 0)
			close(proc);
	}
	return store_refuse(why, whylen, -EBUSY,
			    "store %s is in use by process %s (%s): stop it first, or use another --store", path,
			    pid > 0 ? text : "unknown", comm[0] != 0 ? comm : "unknown");
}

/* The file stays when the owner goes: removing it would let two processes lock two files of that name. */
static int owner_take(struct lmdb_dir *dir, const char *path, char *why, size_t whylen)
{
	char text[32];
	int fd = openat(dir->fd, OWNER_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return store_refuse(why, whylen, -errno, "store %s: cannot write %s: %s", path, OWNER_FILE,
				    strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int err = errno == EWOULDBLOCK ? owner_refuse(fd, path, why, whylen)
					       : store_refuse(why, whylen, -errno, "store %s: cannot lock %s: %s", path,
							      OWNER_FILE, strerror(errno));
		close(fd);
		return err;
	}
	int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	/* Only for people to read: a full disk must not keep the store from being opened. */
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, text, (size_t)len, 0);
	dir->owner = fd;
	return 0;
}

static int dir_refuse(const char *path, const char *what, int err, char *why, size_t whylen)
{
	static const struct {
		int err;
		const char *hint;
	} hints[] = {
		{ -EACCES, "run as the user it belongs to, or use another --store" },
		{ -ENOTDIR, "a directory is needed" },
		{ -ENOSPC, "free some space, or use another --store" },
		{ -EROFS, "use another --store" },
	};
	const char *hint = "check --store";

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (hints[i].err == err)
			hint = hints[i].hint;
	}
	return store_refuse(why, whylen, err, "store %s cannot be %s: %s: %s", path, what, strerror(-err), hint);
}

int lmdb_dir_open(struct lmdb_dir *dir, const char *path, bool readonly, char *why, size_t whylen)
{
	int rc = readonly ? 0 : dir_make(path);

	dir->owner = -1;
	if (rc < 0)
		return dir_refuse(path, "made", rc, why, whylen);
	dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0)
		return dir_refuse(path, "opened", -errno, why, whylen);
	rc = dir_check(dir, path, why, whylen);
	if (rc == 0 && !dir_register(dir))
		rc = store_refuse(why, whylen, -EBUSY, "store %s is already open in this process (%ld)", path,
				  (long)getpid());
	if (rc < 0) {
		close(dir->fd);
		return rc;
	}
	if (!readonly)
		rc = owner_take(dir, path, why, whylen);
	if (rc < 0) {
		dir_unregister(dir);
		close(dir->fd);
	}
	return rc;
}

void lmdb_dir_close(struct lmdb_dir *dir)
{
	/* Closing gives the lock up; unlocking would take it from a parent if this is its child. */
	if (dir->owner >= 0)
		close(dir->owner);
	dir_unregister(dir);
	close(dir->fd);
}
