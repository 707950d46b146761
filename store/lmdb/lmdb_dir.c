/*
 * The directory of a store: makes it, checks it for file systems that LMDB cannot use and for users who may write to
 * it, and lets one process at a time own it. The owner locks the directory itself, which no removal of a file undoes,
 * and owner.pid, which older versions check and people read.
 */
#include "lmdb_dir.h"

#include "engine_refuse.h"
#include "lmdb_stamp.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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
 * LMDB's fcntl locks belong to the process: opening an environment twice and closing one would silently drop the locks
 * of the other.
 */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, lmdb_dir) open_dirs = LIST_HEAD_INITIALIZER(open_dirs);

static bool dir_register(struct lmdb_dir *dir)
{
	struct lmdb_dir *other;

	pthread_mutex_lock(&open_lock);
	LIST_FOREACH(other, &open_dirs, link) {
		/* A forked child has its parent's list and descriptors, but none of its fcntl locks. */
		if (other->dev == dir->dev && other->ino == dir->ino && other->pid == getpid())
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

static int place_check(struct lmdb_dir *dir, const char *path, char *why, size_t whylen)
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
	dir->pid = getpid();
	dir->dev = st.st_dev;
	dir->ino = st.st_ino;
	return 0;
}

/*
 * A user who can write to the store controls the daemon, down to the command that on_event runs. So the store must
 * belong to the user of this process, to root, or to the one user that the caller trusts as well.
 */
static const char *distrust(const struct stat *st, uid_t trusted, char *text, size_t len)
{
	if (st->st_uid != 0 && st->st_uid != geteuid() && st->st_uid != trusted) {
		(void)snprintf(text, len,
			       "belongs to user %lu: run this as that user (runuser -u, run_as=), or chown it",
			       (unsigned long)st->st_uid);
		return text;
	}
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0 && !S_ISLNK(st->st_mode)) {
		(void)snprintf(text, len, "can be written by others (mode %04o): chmod go-w it",
			       (unsigned int)(st->st_mode & 07777));
		return text;
	}
	return NULL;
}

/* No file in the directory may lead outside it. This process makes those that do not exist yet. */
static int files_check(const struct lmdb_dir *dir, const char *path, uid_t trusted, char *why, size_t whylen)
{
	static const struct {
		const char *name;
		int err; /* errno if it is not a regular file */
	} files[] = {
		{ LMDB_DATA_FILE, -EINVAL },
		{ "commit.log", -EUCLEAN },
		{ OWNER_FILE, -EINVAL },
		{ LMDB_FOREIGN_FILE, -EINVAL },
	};
	char text[128];
	struct stat st;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (fstatat(dir->fd, files[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT)
				continue;
			return store_refuse(why, whylen, -errno, "store %s: %s: %s", path, files[i].name,
					    strerror(errno));
		}
		if (!S_ISREG(st.st_mode))
			return store_refuse(why, whylen, files[i].err, "store %s: %s is not a file%s", path,
					    files[i].name,
					    S_ISLNK(st.st_mode) ? " but a symbolic link, which is not followed" : "");
		if (distrust(&st, trusted, text, sizeof(text)) != NULL)
			return store_refuse(why, whylen, -EPERM, "store %s: %s %s", path, files[i].name, text);
	}
	return 0;
}

static int trust_check(const struct lmdb_dir *dir, const char *path, uid_t trusted, char *why, size_t whylen)
{
	char text[128];
	struct stat st;

	if (fstat(dir->fd, &st) < 0)
		return store_refuse(why, whylen, -errno, "store %s: %s", path, strerror(errno));
	if (distrust(&st, trusted, text, sizeof(text)) != NULL)
		return store_refuse(why, whylen, -EPERM, "store %s %s", path, text);
	return files_check(dir, path, trusted, why, whylen);
}

/* Names the process that has the store, as far as owner.pid tells. */
static int owner_refuse(const struct lmdb_dir *dir, const char *path, char *why, size_t whylen)
{
	int fd = openat(dir->fd, OWNER_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[32] = "";
	char comm[64] = "";
	char file[64];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	long long pid = strtonum(text, 1, INT_MAX, NULL);
	if (pid <= 0)
		return store_refuse(
			why, whylen, -EBUSY,
			"store %s is in use by another process, whose %s is gone (fuser -v %s/%s names it): "
			"stop it first, or use another --store",
			path, OWNER_FILE, path, LMDB_DATA_FILE);
	(void)snprintf(file, sizeof(file), "/proc/%lld/comm", pid);
	int proc = open(file, O_RDONLY | O_CLOEXEC);
	n = proc < 0 ? -1 : read(proc, comm, sizeof(comm) - 1);
	comm[n > 0 ? n : 0] = 0;
	comm[strcspn(comm, "\n")] = 0;
	if (proc >= 0)
		close(proc);
	return store_refuse(why, whylen, -EBUSY,
			    "store %s is in use by process %s (%s): stop it first, or use another --store", path, text,
			    comm[0] != 0 ? comm : "unknown");
}

int lmdb_lock(const struct lmdb_dir *dir, int fd, const char *what, const char *path, char *why, size_t whylen)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return owner_refuse(dir, path, why, whylen);
	return store_refuse(why, whylen, -errno, "store %s: cannot lock %s: %s", path, what, strerror(errno));
}

/* For a readonly store. */
static void owner_look(struct lmdb_dir *dir)
{
	int fd = openat(dir->fd, OWNER_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	lmdb_stamp_read(dir, fd);
	close(fd);
}

/* The file stays when the owner ends: removing it would let two older processes lock two files of that name. */
static int owner_take(struct lmdb_dir *dir, const char *path, char *why, size_t whylen)
{
	char text[32];

	dir->owner = openat(dir->fd, OWNER_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (dir->owner < 0)
		return store_refuse(why, whylen, -errno, "store %s: cannot write %s: %s", path, OWNER_FILE,
				    strerror(errno));
	int rc = lmdb_lock(dir, dir->owner, OWNER_FILE, path, why, whylen);
	if (rc < 0)
		return rc;
	lmdb_stamp_read(dir, dir->owner);
	int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	/* Only for people to read: a full disk must not keep the store from being opened. */
	if (ftruncate(dir->owner, 0) == 0)
		(void)!pwrite(dir->owner, text, (size_t)len, 0);
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

/* Made absolute, because the working directory may change. NULL: no memory, or the working directory has no name. */
static char *path_absolute(const char *path)
{
	char here[PATH_MAX];
	char *whole;

	if (path[0] == '/')
		return strdup(path);
	return getcwd(here, sizeof(here)) == NULL || asprintf(&whole, "%s/%s", here, path) < 0 ? NULL : whole;
}

static int dir_take(struct lmdb_dir *dir, const char *path, const struct store_options *options, char *why,
		    size_t whylen)
{
	int rc = trust_check(dir, path, options->owner, why, whylen);

	if (rc == 0 && !options->readonly)
		rc = lmdb_lock(dir, dir->fd, "it", path, why, whylen);
	if (rc == 0 && !options->readonly)
		rc = owner_take(dir, path, why, whylen);
	if (rc == 0 && options->readonly)
		owner_look(dir);
	return rc;
}

int lmdb_dir_open(struct lmdb_dir *dir, const char *path, const struct store_options *options, char *why, size_t whylen)
{
	int rc = options->readonly ? 0 : dir_make(path);

	dir->owner = dir->data = dir->foreign = -1;
	dir->stamp[0] = '\0';
	dir->path = NULL;
	if (rc < 0)
		return dir_refuse(path, "made", rc, why, whylen);
	dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0)
		return dir_refuse(path, "opened", -errno, why, whylen);
	rc = place_check(dir, path, why, whylen);
	if (rc == 0 && !dir_register(dir))
		rc = store_refuse(why, whylen, -EBUSY, "store %s is already open in this process (%ld)", path,
				  (long)getpid());
	if (rc < 0) {
		close(dir->fd);
		return rc;
	}
	dir->path = path_absolute(path);
	rc = dir_take(dir, path, options, why, whylen);
	if (rc < 0)
		lmdb_dir_close(dir);
	return rc;
}

static void descriptor_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

void lmdb_dir_close(struct lmdb_dir *dir)
{
	/* Closing releases the locks. Unlocking would, in a forked child, release those of the parent. */
	descriptor_close(dir->foreign);
	descriptor_close(dir->data);
	descriptor_close(dir->owner);
	dir_unregister(dir);
	close(dir->fd);
	free(dir->path);
}
