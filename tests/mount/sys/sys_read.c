/* Ways of reading the current file. What is read goes to stdout. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys.h"

/* read [MAX]: one read(2). */
static int do_read(char **a)
{
	static char data[1 << 20];
	size_t max = a[0][0] == '\0' ? sizeof(data) : (size_t)sys_number(a[0]);
	ssize_t n = read(sys_fd, data, max < sizeof(data) ? max : sizeof(data));

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
	while ((n = read(sys_fd, data, sizeof(data))) > 0)
		fwrite(data, 1, (size_t)n, stdout);
	return n < 0 ? -1 : fflush(stdout);
}

/* pread [MAX]: so many bytes at a time. */
static int do_pread(char **a)
{
	static char data[1 << 16];
	size_t max = a[0][0] == '\0' ? sizeof(data) : (size_t)sys_number(a[0]);
	off_t at = 0;
	ssize_t n;

	for (; (n = pread(sys_fd, data, max, at)) > 0; at += n)
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
	if (fstat(sys_fd, &st) != 0)
		return -1;
	if (st.st_size == 0)
		return 0;
	signal(SIGBUS, on_bus);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, sys_fd, 0);
	if (map == MAP_FAILED)
		return -1;
	return fwrite(map, 1, (size_t)st.st_size, stdout) == (size_t)st.st_size ? fflush(stdout) : -1;
}

static int do_sendfile(char **a)
{
	ssize_t n;

	(void)a;
	while ((n = sendfile(STDOUT_FILENO, sys_fd, NULL, 1 << 24)) > 0)
		;
	return n < 0 ? -1 : 0;
}

/* Stdout must be a pipe. */
static int do_splice(char **a)
{
	ssize_t n;

	(void)a;
	while ((n = splice(sys_fd, NULL, STDOUT_FILENO, NULL, 1 << 16, 0)) > 0)
		;
	return n < 0 ? -1 : 0;
}

/* Stdout must be a file, of the same mount. */
static int do_copyrange(char **a)
{
	ssize_t n;

	(void)a;
	while ((n = copy_file_range(sys_fd, NULL, STDOUT_FILENO, NULL, 1 << 24, 0)) > 0)
		;
	return n < 0 ? -1 : 0;
}

const struct sys_step sys_read_steps[] = {
	{ "read", do_read, 0 },           { "readall", do_readall, 0 },
	{ "pread", do_pread, 0 },         { "mapread", do_mapread, 0 },
	{ "sendfile", do_sendfile, 0 },   { "splice", do_splice, 0 },
	{ "copyrange", do_copyrange, 0 }, { NULL, NULL, 0 },
};
