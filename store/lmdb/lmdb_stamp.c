/*
 * How the data file was when a daemon had closed it in order: the second line of owner.pid. As long as the file is still like that,
 * no program has written to it since, and it need not be read all over before it is used (lmdb_check.c). While a daemon has the store there
 * is no such line, so a crash leaves none.
 */
#include "lmdb_stamp.h"

#include "lmdb_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Times are the kernel's: a program that writes to the file cannot keep both. One word, so that none of its numbers is a process to
 * `kill $(cat owner.pid)`.
 */
static bool stamp_make(int data, char out[LMDB_STAMP_MAX])
{
	struct stat st;

	if (data < 0 || fstat(data, &st) < 0)
		return false;
	(void)snprintf(out, LMDB_STAMP_MAX, "clean:%ju:%jd:%jd.%09ld:%jd.%09ld\n", (uintmax_t)st.st_ino,
		       (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		       (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	return true;
}

void lmdb_stamp_read(struct lmdb_dir *dir, int owner)
{
	char text[LMDB_STAMP_MAX + 32];
	ssize_t n = pread(owner, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	const char *line = strchr(text, '\n');
	(void)snprintf(dir->stamp, sizeof(dir->stamp), "%s", line == NULL ? "" : line + 1);
}

bool lmdb_stamp_fits(const struct lmdb_dir *dir)
{
	char now[LMDB_STAMP_MAX];

	return stamp_make(dir->data, now) && strcmp(now, dir->stamp) == 0;
}

void lmdb_stamp_write(const struct lmdb_dir *dir)
{
	char text[LMDB_STAMP_MAX + 1] = "\n";

	/* The process that the first line named is about to end. */
	if (stamp_make(dir->data, text + 1) && ftruncate(dir->owner, 0) == 0)
		(void)!pwrite(dir->owner, text, strlen(text), 0);
}
