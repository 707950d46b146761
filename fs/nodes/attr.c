#include "attr.h"

/* tv_nsec is never negative, also for times before 1970. */
struct timespec attr_time(int64_t wall)
{
	int64_t ns = wall % ATLOCK_SECOND;

	if (ns < 0)
		ns += ATLOCK_SECOND;
	return (struct timespec){ .tv_sec = (time_t)((wall - ns) / ATLOCK_SECOND), .tv_nsec = (long)ns };
}

void attr_times(struct stat *st, int64_t wall)
{
	st->st_atim = st->st_mtim = st->st_ctim = attr_time(wall);
}

void attr_size(struct stat *st, size_t size)
{
	st->st_size = (off_t)size;
	st->st_blocks = (blkcnt_t)((size + 511) / 512);
	st->st_blksize = 4096;
}

/* st_nlink 1 tells find(1) not to count subdirectories by it. */
void attr_virtual(struct fs *fs, mode_t mode, struct stat *st)
{
	*st = (struct stat){ .st_mode = S_IFDIR | mode, .st_nlink = 1, .st_uid = fs->uid, .st_gid = fs->gid };
	st->st_atim = st->st_mtim = st->st_ctim = fs->started;
	st->st_blksize = 4096;
}

void attr_file(struct fs *fs, mode_t mode, size_t size, struct stat *st)
{
	*st = (struct stat){ .st_mode = S_IFREG | mode, .st_nlink = 1, .st_uid = fs->uid, .st_gid = fs->gid };
	st->st_atim = st->st_mtim = st->st_ctim = fs->started;
	attr_size(st, size);
}

void attr_touch(struct fs *fs)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	atomic_store_explicit(&fs->changed, (int64_t)now.tv_sec * ATLOCK_SECOND + now.tv_nsec, memory_order_relaxed);
}

void attr_telling(struct fs *fs, mode_t mode, size_t size, struct stat *st)
{
	attr_file(fs, mode, size, st);
	attr_times(st, atomic_load_explicit(&fs->changed, memory_order_relaxed));
}

void attr_passing(struct fs *fs, mode_t mode, size_t size, struct stat *st)
{
	attr_file(fs, mode, size, st);
	clock_gettime(CLOCK_REALTIME, &st->st_mtim);
	st->st_ctim = st->st_mtim;
}
