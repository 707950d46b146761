/* The current file: opening, locking, writing, its attributes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys.h"

static const struct sys_word open_words[] = {
	{ "rdonly", O_RDONLY },     { "wronly", O_WRONLY },     { "rdwr", O_RDWR },
	{ "creat", O_CREAT },       { "excl", O_EXCL },         { "trunc", O_TRUNC },
	{ "append", O_APPEND },     { "nonblock", O_NONBLOCK }, { "directory", O_DIRECTORY },
	{ "nofollow", O_NOFOLLOW }, { "path", O_PATH },         { "tmpfile", O_TMPFILE },
	{ "sync", O_SYNC },         { "direct", O_DIRECT },     { NULL, 0 },
};

static const struct sys_word flock_words[] = {
	{ "sh", LOCK_SH }, { "ex", LOCK_EX }, { "un", LOCK_UN }, { "nb", LOCK_NB }, { NULL, 0 },
};

static const struct sys_word fcntl_words[] = { { "rd", F_RDLCK }, { "wr", F_WRLCK }, { "un", F_UNLCK }, { NULL, 0 } };

static int do_open(char **a)
{
	sys_fd = open(a[0], sys_words(open_words, a[1]), sys_mode(a[2], 0666));
	return sys_fd;
}

static int do_close(char **a)
{
	(void)a;
	return close(sys_fd);
}

/* fd NUMBER: goes on with a file that was open already. */
static int do_fd(char **a)
{
	sys_fd = (int)sys_number(a[0]);
	return 0;
}

/* The file stays open under its old number too. */
static int do_dup(char **a)
{
	(void)a;
	sys_fd = dup(sys_fd);
	return sys_fd;
}

static int do_flock(char **a)
{
	return flock(sys_fd, sys_words(flock_words, a[0]));
}

/* fcntl TYPE [getlk|setlk|setlkw|ofd] */
static int do_fcntl(char **a)
{
	struct flock lock = { .l_type = (short)sys_words(fcntl_words, a[0]), .l_whence = SEEK_SET };

	if (strcmp(a[1], "getlk") == 0)
		return fcntl(sys_fd, F_GETLK, &lock);
	if (strcmp(a[1], "setlkw") == 0)
		return fcntl(sys_fd, F_SETLKW, &lock);
	if (strcmp(a[1], "ofd") == 0)
		return fcntl(sys_fd, F_OFD_SETLK, &lock);
	return fcntl(sys_fd, F_SETLK, &lock);
}

static int write_all(const char *data, size_t len)
{
	ssize_t n = write(sys_fd, data, len);

	if (n >= 0 && (size_t)n != len) {
		fprintf(stderr, "only %zd of %zu bytes\n", n, len);
		errno = EIO;
		return -1;
	}
	return n < 0 ? -1 : 0;
}

static int do_write(char **a)
{
	return write_all(a[0], strlen(a[0]));
}

/* writefile PATH: all of a file in one write(2). */
static int do_writefile(char **a)
{
	static char data[4 << 20];
	int from = open(a[0], O_RDONLY | O_CLOEXEC);
	ssize_t n = from < 0 ? -1 : read(from, data, sizeof(data));

	if (from >= 0)
		close(from);
	if (n < 0)
		sys_usage(a[0], strerror(errno));
	return write_all(data, (size_t)n);
}

static int do_pwrite(char **a)
{
	return pwrite(sys_fd, a[0], strlen(a[0]), (off_t)sys_number(a[1])) < 0 ? -1 : 0;
}

static int do_lseek(char **a)
{
	return lseek(sys_fd, (off_t)sys_number(a[0]), SEEK_SET) < 0 ? -1 : 0;
}

static int do_ftruncate(char **a)
{
	return ftruncate(sys_fd, (off_t)sys_number(a[0]));
}

static int do_fallocate(char **a)
{
	return fallocate(sys_fd, 0, 0, (off_t)sys_number(a[0]));
}

static int do_mmap(char **a)
{
	int shared = strcmp(a[0], "shared") == 0;
	const void *map = mmap(NULL, 4096, shared ? PROT_READ | PROT_WRITE : PROT_READ,
			       shared ? MAP_SHARED : MAP_PRIVATE, sys_fd, 0);

	return map == MAP_FAILED ? -1 : 0;
}

static int do_fsync(char **a)
{
	(void)a;
	return fsync(sys_fd);
}

static int do_fchmod(char **a)
{
	return fchmod(sys_fd, sys_mode(a[0], 0));
}

static int do_fchown(char **a)
{
	return fchown(sys_fd, (uid_t)sys_number(a[0]), (gid_t)sys_number(a[1]));
}

static int do_size(char **a)
{
	struct stat st;

	(void)a;
	if (fstat(sys_fd, &st) != 0)
		return -1;
	printf("%lld\n", (long long)st.st_size);
	return 0;
}

static int do_futimens(char **a)
{
	struct timespec times[2] = { sys_time(a[0]), sys_time(a[1]) };

	return futimens(sys_fd, times);
}

/* poll [in|out]: ready at once, or EAGAIN. */
static int do_poll(char **a)
{
	struct pollfd poller = { .fd = sys_fd, .events = strcmp(a[0], "out") == 0 ? POLLOUT : POLLIN };
	int n = poll(&poller, 1, 0);

	if (n == 0)
		errno = EAGAIN;
	return n > 0 ? 0 : -1;
}

const struct sys_step sys_file_steps[] = {
	{ "open", do_open, 2 },
	{ "close", do_close, 0 },
	{ "fd", do_fd, 1 },
	{ "dup", do_dup, 0 },
	{ "flock", do_flock, 1 },
	{ "fcntl", do_fcntl, 1 },
	{ "write", do_write, 1 },
	{ "writefile", do_writefile, 1 },
	{ "pwrite", do_pwrite, 2 },
	{ "lseek", do_lseek, 1 },
	{ "ftruncate", do_ftruncate, 1 },
	{ "fallocate", do_fallocate, 1 },
	{ "mmap", do_mmap, 0 },
	{ "fsync", do_fsync, 0 },
	{ "fchmod", do_fchmod, 1 },
	{ "fchown", do_fchown, 2 },
	{ "size", do_size, 0 },
	{ "futimens", do_futimens, 2 },
	{ "poll", do_poll, 0 },
	{ NULL, NULL, 0 },
};
