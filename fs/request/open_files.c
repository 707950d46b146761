#include "open_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "flocked.h"
#include "handle.h"

#define DESCRIPTORS_MAX 1024 /* descriptors examined per process */
#define ANCESTORS_MAX 64
#define FILES_MAX 8 /* holders reported at most */

/* Handles examined per wait: a lock may be open any number of times, and the handles' mutex is held meanwhile. */
#define HANDLES_MAX 16384

struct search {
	struct fs *fs;
	pid_t lineage[ANCESTORS_MAX]; /* the process and its ancestors */
	size_t lineage_len;
	struct atlock_caller *out;
	size_t count;
	size_t left; /* handles that may still be examined */
	/* For the current descriptor: */
	uint64_t ino;
	bool locked; /* one of the open files it may refer to is a holder: `holder` */
	struct atlock_caller holder;
	size_t possible; /* number of open files it may refer to; 2: or more */
};

/* Answered from the kernel's cached inode: a request to the daemon, which is this process, could hang. */
static int quiet_stat(int dir, const char *path, struct statx *out)
{
	return statx(dir, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO, out);
}

static bool in_lineage(const struct search *search, pid_t pid)
{
	for (size_t i = 0; i < search->lineage_len; i++)
		if (search->lineage[i] == pid)
			return true;
	return false;
}

/*
 * /proc shows which inode a descriptor refers to, but not which open file. A descriptor is inherited from the process
 * that opened it: this one, an ancestor, or one that has exited.
 */
static bool may_be(const struct search *search, const struct handle *handle)
{
	return handle->pid <= 0 || in_lineage(search, handle->pid) || (kill(handle->pid, 0) != 0 && errno == ESRCH);
}

static bool find_holder(void *arg, struct handle *handle)
{
	struct search *search = arg;

	search->locked = flocked_holds(handle, search->ino, &search->holder) && may_be(search, handle);
	return --search->left > 0 && !search->locked;
}

static bool count_possible(void *arg, struct handle *handle)
{
	struct search *search = arg;

	search->possible += may_be(search, handle);
	return --search->left > 0 && search->possible < 2;
}

/* Looks for the holder first: mostly that is another process, and then the many waiters need not be examined. */
static void descriptor(struct search *search, uint64_t ino)
{
	search->ino = ino;
	search->locked = false;
	search->possible = 0;
	handles_each(search->fs->handles, ino, find_holder, search);
	if (!search->locked || search->left == 0)
		return;
	handles_each(search->fs->handles, ino, count_possible, search);
	if (search->possible != 1 || search->left == 0)
		return;
	for (size_t i = 0; i < search->count; i++)
		if (strcmp(search->out[i].who, search->holder.who) == 0)
			return;
	search->out[search->count++] = search->holder;
}

static void descriptors(struct search *search, DIR *dir, const struct statx *root)
{
	const struct dirent *entry;
	struct statx st;

	for (int i = 0; i < DESCRIPTORS_MAX && search->count < FILES_MAX && search->left > 0; i++) {
		entry = readdir(dir);
		if (entry == NULL)
			return;
		if (entry->d_name[0] == '.' || quiet_stat(dirfd(dir), entry->d_name, &st) != 0)
			continue;
		if (st.stx_dev_major == root->stx_dev_major && st.stx_dev_minor == root->stx_dev_minor &&
		    S_ISREG(st.stx_mode))
			descriptor(search, st.stx_ino);
	}
}

static void search_run(struct search *search, pid_t tid)
{
	struct statx root;
	char path[32];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%jd/fd", (intmax_t)tid);
	dir = opendir(path);
	if (dir == NULL)
		return;
	search->lineage_len = atlock_lineage(tid, search->lineage, ANCESTORS_MAX);
	if (search->lineage_len > 0 && quiet_stat(AT_FDCWD, search->fs->mountpoint, &root) == 0)
		descriptors(search, dir, &root);
	(void)closedir(dir);
}

size_t behind_files(struct fs *fs, pid_t tid, struct atlock_caller **out)
{
	struct search *search;
	size_t count;

	*out = NULL;
	if (tid <= 0 || fs->mountpoint == NULL || handles_flocked(fs->handles) == 0)
		return 0;
	*out = calloc(FILES_MAX, sizeof(**out));
	search = calloc(1, sizeof(*search));
	if (*out != NULL && search != NULL) {
		search->fs = fs;
		search->out = *out;
		search->left = HANDLES_MAX;
		search_run(search, tid);
	}
	count = search != NULL ? search->count : 0;
	free(search);
	return count;
}
