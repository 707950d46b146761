#include "open_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "flocked.h"
#include "handle.h"

#define DESCRIPTORS_MAX 1024 /* descriptors examined per process */
#define ANCESTORS_MAX 64
#define FILES_MAX 8 /* holders reported at most */

/* Handles examined per wait: a lock may be open any number of times, and the handles' mutex is held meanwhile. */
#define HANDLES_MAX 16384

/* A descriptor of the process that refers to a file of the mount. */
struct descriptor {
	int fd;
	uint64_t ino;
};

struct search {
	struct fs *fs;
	pid_t tid;
	pid_t lineage[ANCESTORS_MAX]; /* the process and its ancestors */
	size_t lineage_len;
	struct atlock_caller *out;
	size_t count;
	size_t left; /* handles that may still be examined */
	struct descriptor descriptors[DESCRIPTORS_MAX];
	size_t descriptors_len;
	/* For the current inode: */
	uint64_t ino;
	bool locked; /* one of the open files that descriptors may refer to is a holder: `holder` */
	struct atlock_caller holder;
	size_t possible; /* number of open files that descriptors may refer to; FILES_MAX + 1: or more */
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
 * /proc shows which inode a descriptor refers to, but not which of our open files. A descriptor is inherited from the process
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
	return --search->left > 0 && search->possible <= FILES_MAX;
}

/*
 * The number of open files that the process's descriptors of the inode refer to: dup(2) makes two of one. 0 if the kernel
 * does not tell, or if there are too many to compare.
 */
static size_t count_files(const struct search *search)
{
	int files[FILES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < search->descriptors_len; i++) {
		const struct descriptor *descriptor = &search->descriptors[i];
		long differs = 1;

		if (descriptor->ino != search->ino)
			continue;
		for (size_t j = 0; j < count && differs > 0; j++)
			differs = syscall(SYS_kcmp, search->tid, search->tid, KCMP_FILE, descriptor->fd, files[j]);
		if (differs < 0 || (differs > 0 && count == FILES_MAX))
			return 0;
		if (differs > 0)
			files[count++] = descriptor->fd;
	}
	return count;
}

/*
 * Looks for the holder first: mostly that is another process, and then the many waiters need not be examined. The process
 * certainly has it open if it has as many files open as its descriptors may refer to.
 */
static void inode(struct search *search, uint64_t ino)
{
	search->ino = ino;
	search->locked = false;
	search->possible = 0;
	handles_each(search->fs->handles, ino, find_holder, search);
	if (!search->locked || search->left == 0)
		return;
	handles_each(search->fs->handles, ino, count_possible, search);
	if (search->left == 0 || (search->possible != 1 && search->possible != count_files(search)))
		return;
	search->out[search->count++] = search->holder;
}

static void descriptors(struct search *search, DIR *dir, const struct statx *root)
{
	const struct dirent *entry;
	struct statx st;

	for (int i = 0; i < DESCRIPTORS_MAX; i++) {
		entry = readdir(dir);
		if (entry == NULL)
			return;
		if (entry->d_name[0] == '.' || quiet_stat(dirfd(dir), entry->d_name, &st) != 0)
			continue;
		if (st.stx_dev_major == root->stx_dev_major && st.stx_dev_minor == root->stx_dev_minor &&
		    S_ISREG(st.stx_mode))
			search->descriptors[search->descriptors_len++] = (struct descriptor){ atoi(entry->d_name),
											      st.stx_ino };
	}
}

static bool is_first(const struct search *search, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (search->descriptors[i].ino == search->descriptors[at].ino)
			return false;
	return true;
}

static void inodes(struct search *search)
{
	for (size_t i = 0; i < search->descriptors_len && search->count < FILES_MAX && search->left > 0; i++)
		if (is_first(search, i))
			inode(search, search->descriptors[i].ino);
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
	if (search->lineage_len > 0 && quiet_stat(AT_FDCWD, search->fs->mountpoint, &root) == 0) {
		descriptors(search, dir, &root);
		inodes(search);
	}
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
		search->tid = tid;
		search->out = *out;
		search->left = HANDLES_MAX;
		search_run(search, tid);
	}
	count = search != NULL ? search->count : 0;
	free(search);
	return count;
}

struct openers {
	pid_t lineage[ANCESTORS_MAX];
	size_t lineage_len;
	size_t left;
	bool found;
};

static bool find_opener(void *arg, struct handle *handle)
{
	struct openers *openers = arg;

	for (size_t i = 0; i < openers->lineage_len && !openers->found; i++)
		openers->found = openers->lineage[i] == handle->pid;
	return --openers->left > 0 && !openers->found;
}

bool files_opened(struct fs *fs, pid_t tid, uint64_t ino)
{
	struct openers openers = { .lineage = { tid }, .lineage_len = 1, .left = HANDLES_MAX };

	handles_each(fs->handles, ino, find_opener, &openers);
	if (openers.found || openers.left == HANDLES_MAX)
		return openers.found;
	openers.lineage_len = tid > 0 ? atlock_lineage(tid, openers.lineage, ANCESTORS_MAX) : 0;
	handles_each(fs->handles, ino, find_opener, &openers);
	return openers.found;
}
