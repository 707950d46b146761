/*
 * System calls for shell scripts: `mount-sys open F rdonly,creat + flock ex,nb + mark READY + pause`.
 *
 * Steps are separated by "+" and share one current file, the one opened last. The first that fails ends the program with
 * status 1 and "<step>: <ERRNO>" on stderr. What is read goes to stdout.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX 4

struct word {
	const char *name;
	int value;
};

static int fd = -1;

static const struct word open_words[] = {
	{ "rdonly", O_RDONLY },     { "wronly", O_WRONLY },     { "rdwr", O_RDWR },
	{ "creat", O_CREAT },       { "excl", O_EXCL },         { "trunc", O_TRUNC },
	{ "append", O_APPEND },     { "nonblock", O_NONBLOCK }, { "directory", O_DIRECTORY },
	{ "nofollow", O_NOFOLLOW }, { "path", O_PATH },         { "tmpfile", O_TMPFILE },
	{ "sync", O_SYNC },         { "direct", O_DIRECT },     { NULL, 0 },
};

static const struct word flock_words[] = {
	{ "sh", LOCK_SH }, { "ex", LOCK_EX }, { "un", LOCK_UN }, { "nb", LOCK_NB }, { NULL, 0 },
};

static const struct word fcntl_words[] = { { "rd", F_RDLCK }, { "wr", F_WRLCK }, { "un", F_UNLCK }, { NULL, 0 } };

static const struct word rename_words[] = {
	{ "", 0 },
	{ "noreplace", RENAME_NOREPLACE },
	{ "exchange", RENAME_EXCHANGE },
	{ NULL, 0 },
};

static const struct word xattr_words[] = {
	{ "", 0 }, { "create", XATTR_CREATE }, { "replace", XATTR_REPLACE }, { NULL, 0 }
};

static _Noreturn void usage(const char *what, const char *text)
{
	fprintf(stderr, "mount-sys: %s: %s\n", what, text);
	exit(2);
}

/* The sum of comma-separated words. */
static int words(const struct word *table, const char *text)
{
	int sum = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		const struct word *word = table;

		while (word->name != NULL && (strlen(word->name) != len || strncmp(word->name, text, len) != 0))
			word++;
		if (word->name == NULL)
			usage(text, "unknown word");
		sum |= word->value;
		if (text[len] == '\0')
			return sum;
		text += len + 1;
	}
}

static long long number(const char *text)
{
	char *end;
	long long value = strtoll(text, &end, 0);

	if (end == text || *end != '\0')
		usage(text, "not a number");
	return value;
}

static mode_t mode_of(const char *text, mode_t otherwise)
{
	return text[0] == '\0' ? otherwise : (mode_t)strtoul(text, NULL, 8);
}

static int do_open(char **a)
{
	fd = open(a[0], words(open_words, a[1]), mode_of(a[2], 0666));
	return fd;
}

static int do_close(char **a)
{
	(void)a;
	return close(fd);
}

/* fd NUMBER: goes on with a file that was open already. */
static int do_fd(char **a)
{
	fd = (int)number(a[0]);
	return 0;
}

/* exec PROGRAM [ARG]...: becomes a program that has the file as its stdin. */
static int do_exec(char **a)
{
	char *args[ARGS_MAX + 1] = { 0 };

	for (int i = 0; i < ARGS_MAX && a[i][0] != '\0'; i++)
		args[i] = a[i];
	return dup2(fd, STDIN_FILENO) < 0 ? -1 : execvp(a[0], args);
}

/* The file stays open under its old number too. */
static int do_dup(char **a)
{
	(void)a;
	fd = dup(fd);
	return fd;
}

static int do_flock(char **a)
{
	return flock(fd, words(flock_words, a[0]));
}

/* fcntl TYPE [getlk|setlk|setlkw|ofd] */
static int do_fcntl(char **a)
{
	struct flock lock = { .l_type = (short)words(fcntl_words, a[0]), .l_whence = SEEK_SET };

	if (strcmp(a[1], "getlk") == 0)
		return fcntl(fd, F_GETLK, &lock);
	if (strcmp(a[1], "setlkw") == 0)
		return fcntl(fd, F_SETLKW, &lock);
	if (strcmp(a[1], "ofd") == 0)
		return fcntl(fd, F_OFD_SETLK, &lock);
	return fcntl(fd, F_SETLK, &lock);
}

static int write_all(const char *data, size_t len)
{
	ssize_t n = write(fd, data, len);

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
		usage(a[0], strerror(errno));
	return write_all(data, (size_t)n);
}

static int do_pwrite(char **a)
{
	return pwrite(fd, a[0], strlen(a[0]), (off_t)number(a[1])) < 0 ? -1 : 0;
}

/* read [MAX]: one read(2). */
static int do_read(char **a)
{
	static char data[1 << 20];
	size_t max = a[0][0] == '\0' ? sizeof(data) : (size_t)number(a[0]);
	ssize_t n = read(fd, data, max < sizeof(data) ? max : sizeof(data));

	if (n > 0)
		fwrite(data, 1, (size_t)n, stdout);
	return n < 0 ? -1 : fflush(stdout);
}

/* The next all read to the end of the file, to stdout: from here, or from the start where the call takes an offset. */
static int do_readall(char **a)
{
	static char data[1 << 16];
	ssize_t n;

	(void)a;
	while ((n = read(fd, data, sizeof(data))) > 0)
		fwrite(data, 1, (size_t)n, stdout);
	return n < 0 ? -1 : fflush(stdout);
}

/* pread [MAX]: so many bytes at a time. */
static int do_pread(char **a)
{
	static char data[1 << 16];
	size_t max = a[0][0] == '\0' ? sizeof(data) : (size_t)number(a[0]);
	off_t at = 0;
	ssize_t n;

	for (; (n = pread(fd, data, max, at)) > 0; at += n)
		fwrite(data, 1, (size_t)n, stdout);
	return n < 0 ? -1 : fflush(stdout);
}

/* A page that cannot be read. */
static void on_bus(int number)
{
	static const char text[] = "mapread: SIGBUS\n";

	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

/* As long as fstat(2) says. */
static int do_mapread(char **a)
{
	const char *map;
	struct stat st;

	(void)a;
	if (fstat(fd, &st) != 0)
		return -1;
	if (st.st_size == 0)
		return 0;
	signal(SIGBUS, on_bus);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	return fwrite(map, 1, (size_t)st.st_size, stdout) == (size_t)st.st_size ? fflush(stdout) : -1;
}

static int do_sendfile(char **a)
{
	ssize_t n;

	(void)a;
	while ((n = sendfile(STDOUT_FILENO, fd, NULL, 1 << 24)) > 0)
		;
	return n < 0 ? -1 : 0;
}

/* Stdout must be a pipe. */
static int do_splice(char **a)
{
	ssize_t n;

	(void)a;
	while ((n = splice(fd, NULL, STDOUT_FILENO, NULL, 1 << 16, 0)) > 0)
		;
	return n < 0 ? -1 : 0;
}

/* Stdout must be a file, of the same mount. */
static int do_copyrange(char **a)
{
	ssize_t n;

	(void)a;
	while ((n = copy_file_range(fd, NULL, STDOUT_FILENO, NULL, 1 << 24, 0)) > 0)
		;
	return n < 0 ? -1 : 0;
}

static int do_lseek(char **a)
{
	return lseek(fd, (off_t)number(a[0]), SEEK_SET) < 0 ? -1 : 0;
}

static int do_ftruncate(char **a)
{
	return ftruncate(fd, (off_t)number(a[0]));
}

static int do_truncate(char **a)
{
	return truncate(a[0], (off_t)number(a[1]));
}

static int do_fallocate(char **a)
{
	return fallocate(fd, 0, 0, (off_t)number(a[0]));
}

static int do_mmap(char **a)
{
	int shared = strcmp(a[0], "shared") == 0;
	const void *map = mmap(NULL, 4096, shared ? PROT_READ | PROT_WRITE : PROT_READ,
			       shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);

	return map == MAP_FAILED ? -1 : 0;
}

static int do_fsync(char **a)
{
	(void)a;
	return fsync(fd);
}

static int do_fchmod(char **a)
{
	return fchmod(fd, mode_of(a[0], 0));
}

static int do_fchown(char **a)
{
	return fchown(fd, (uid_t)number(a[0]), (gid_t)number(a[1]));
}

static int do_size(char **a)
{
	struct stat st;

	(void)a;
	if (fstat(fd, &st) != 0)
		return -1;
	printf("%lld\n", (long long)st.st_size);
	return 0;
}

static struct timespec time_of(const char *text)
{
	struct timespec at = { .tv_nsec = UTIME_NOW };

	if (strcmp(text, "omit") == 0)
		at.tv_nsec = UTIME_OMIT;
	else if (text[0] == '+') {
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_sec += (time_t)number(text + 1);
	} else if (strcmp(text, "now") != 0)
		at = (struct timespec){ .tv_sec = (time_t)number(text) };
	return at;
}

/* utimens PATH ATIME MTIME: each now, omit, +SECONDS from now, or seconds since 1970. */
static int do_utimens(char **a)
{
	struct timespec times[2] = { time_of(a[1]), time_of(a[2]) };

	return utimensat(AT_FDCWD, a[0], times, 0);
}

static int do_futimens(char **a)
{
	struct timespec times[2] = { time_of(a[0]), time_of(a[1]) };

	return futimens(fd, times);
}

static int do_unlink(char **a)
{
	return unlink(a[0]);
}

/* Makes and removes that many files, each of another name. */
static int do_cycle(char **a)
{
	char path[4096];

	for (long long i = 0, n = number(a[1]); i < n; i++) {
		int made;

		snprintf(path, sizeof(path), "%s/%lld", a[0], i);
		made = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (made < 0 || close(made) != 0 || unlink(path) != 0)
			return -1;
	}
	return 0;
}

static int do_mkdir(char **a)
{
	return mkdir(a[0], mode_of(a[1], 0777));
}

static int do_rmdir(char **a)
{
	return rmdir(a[0]);
}

static int do_rename(char **a)
{
	return renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], (unsigned int)words(rename_words, a[2]));
}

static int do_link(char **a)
{
	return link(a[0], a[1]);
}

static int do_symlink(char **a)
{
	return symlink(a[0], a[1]);
}

static int do_mknod(char **a)
{
	mode_t type = strcmp(a[1], "fifo") == 0 ? S_IFIFO : strcmp(a[1], "socket") == 0 ? S_IFSOCK : S_IFREG;

	return mknod(a[0], type | 0644, 0);
}

static int do_stat(char **a)
{
	struct stat st;

	return stat(a[0], &st);
}

/* access PATH [r][w][x] */
static int do_access(char **a)
{
	int mode = (strchr(a[1], 'r') != NULL ? R_OK : 0) | (strchr(a[1], 'w') != NULL ? W_OK : 0) |
		   (strchr(a[1], 'x') != NULL ? X_OK : 0);

	return faccessat(AT_FDCWD, a[0], mode, AT_EACCESS);
}

static int do_setxattr(char **a)
{
	return setxattr(a[0], a[1], a[2], strlen(a[2]), words(xattr_words, a[3]));
}

/* getxattr PATH NAME [ROOM] */
static int do_getxattr(char **a)
{
	static char value[1 << 16];
	ssize_t n = getxattr(a[0], a[1], value, a[2][0] == '\0' ? sizeof(value) : (size_t)number(a[2]));

	if (n > 0)
		fwrite(value, 1, (size_t)n, stdout);
	return n < 0 ? -1 : fflush(stdout);
}

static int do_removexattr(char **a)
{
	return removexattr(a[0], a[1]);
}

/* poll [in|out]: ready at once, or EAGAIN. */
static int do_poll(char **a)
{
	struct pollfd poller = { .fd = fd, .events = strcmp(a[0], "out") == 0 ? POLLOUT : POLLIN };
	int n = poll(&poller, 1, 0);

	if (n == 0)
		errno = EAGAIN;
	return n > 0 ? 0 : -1;
}

/* Tells the script how far we are. */
static int do_mark(char **a)
{
	int mark = open(a[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return mark < 0 ? -1 : close(mark);
}

static int do_await(char **a)
{
	while (access(a[0], F_OK) != 0)
		usleep(5000);
	return 0;
}

static int do_pause(char **a)
{
	(void)a;
	return pause();
}

/* The steps after it run in a child, which keeps the open files; this process goes on to wait for it. */
static int do_fork(char **a)
{
	int status = 0;
	pid_t pid = fork();

	(void)a;
	if (pid <= 0)
		return pid;
	waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* The steps after it run in a child that nobody waits for; this process is done. */
static int do_leave(char **a)
{
	pid_t pid = fork();

	(void)a;
	if (pid > 0)
		_exit(0);
	return pid;
}

static const struct step {
	const char *name;
	int (*run)(char **args);
	int least; /* arguments */
} steps[] = {
	{ "open", do_open, 2 },
	{ "close", do_close, 0 },
	{ "dup", do_dup, 0 },
	{ "flock", do_flock, 1 },
	{ "fcntl", do_fcntl, 1 },
	{ "write", do_write, 1 },
	{ "writefile", do_writefile, 1 },
	{ "pwrite", do_pwrite, 2 },
	{ "read", do_read, 0 },
	{ "lseek", do_lseek, 1 },
	{ "ftruncate", do_ftruncate, 1 },
	{ "truncate", do_truncate, 2 },
	{ "fallocate", do_fallocate, 1 },
	{ "mmap", do_mmap, 0 },
	{ "fsync", do_fsync, 0 },
	{ "fchmod", do_fchmod, 1 },
	{ "fchown", do_fchown, 2 },
	{ "size", do_size, 0 },
	{ "utimens", do_utimens, 3 },
	{ "futimens", do_futimens, 2 },
	{ "unlink", do_unlink, 1 },
	{ "cycle", do_cycle, 2 },
	{ "mkdir", do_mkdir, 1 },
	{ "rmdir", do_rmdir, 1 },
	{ "rename", do_rename, 2 },
	{ "link", do_link, 2 },
	{ "symlink", do_symlink, 2 },
	{ "mknod", do_mknod, 1 },
	{ "stat", do_stat, 1 },
	{ "access", do_access, 1 },
	{ "setxattr", do_setxattr, 3 },
	{ "getxattr", do_getxattr, 2 },
	{ "removexattr", do_removexattr, 2 },
	{ "poll", do_poll, 0 },
	{ "mark", do_mark, 1 },
	{ "await", do_await, 1 },
	{ "pause", do_pause, 0 },
	{ "fork", do_fork, 0 },
	{ "leave", do_leave, 0 },
	{ "fd", do_fd, 1 },
	{ "exec", do_exec, 1 },
	{ "readall", do_readall, 0 },
	{ "pread", do_pread, 0 },
	{ "mapread", do_mapread, 0 },
	{ "sendfile", do_sendfile, 0 },
	{ "splice", do_splice, 0 },
	{ "copyrange", do_copyrange, 0 },
};

static const struct step *step_find(const char *name)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strcmp(steps[i].name, name) == 0)
			return &steps[i];
	usage(name, "no such step");
}

/* Runs the step at argv[0] and returns where the next one begins. */
static char **step_run(char **argv)
{
	static char empty[] = "";
	char *args[ARGS_MAX] = { empty, empty, empty, empty };
	const struct step *step = step_find(*argv++);
	int n = 0;

	while (*argv != NULL && strcmp(*argv, "+") != 0) {
		if (n == ARGS_MAX)
			usage(step->name, "too many arguments");
		args[n++] = *argv++;
	}
	if (n < step->least)
		usage(step->name, "arguments are missing");
	if (step->run(args) < 0) {
		fprintf(stderr, "%s: %s\n", step->name, strerrorname_np(errno));
		exit(1);
	}
	return *argv == NULL ? argv : argv + 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		usage("steps", "which?");
	for (argv++; *argv != NULL;)
		argv = step_run(argv);
	return 0;
}
