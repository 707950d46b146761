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
		/* The lowest free number is this one. Opened the wrong way around, it fails to read or write like a closed one. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return -errno;
	}
	return 0;
}

/* The reason is told once: what could not be written is dropped, and the next flush has nothing to do. */
int atlock_standard_flush(void)
{
	static int failed;

	errno = 0;
	if (failed == 0 && (fflush(stdout) != 0 || ferror(stdout) != 0))
		failed = errno == 0 ? -EIO : -errno;
	return failed;
}
