#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "atlock/program.h"

int atlock_standard_open(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/*
		 * open(2) returns the lowest free number: this one. The wrong access mode makes reads and writes fail,
		 * as on a closed one.
		 */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return -errno;
	}
	return 0;
}

/* Keeps the first error: stdio drops what it could not write, so a second flush would succeed. */
int atlock_standard_flush(void)
{
	static int failed;

	errno = 0;
	if (failed == 0 && (fflush(stdout) != 0 || ferror(stdout) != 0))
		failed = errno == 0 ? -EIO : -errno;
	return failed;
}
