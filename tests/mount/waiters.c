/*
 * Many processes that wait for one lock.
 *
 *	mount-waiters WAIT LOCK COUNT    the i-th reads WAIT@w<i>; when it has the lock, prints i and removes LOCK@w<i>
 *
 * Exits 0 if every one of them got the lock. Killing this process ends all of them.
 */
#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_MAX 100000

/* One line in one write, so that the lines of several processes stay whole. */
static void say(int fd, long long self, const char *text)
{
	char line[256];
	int len = snprintf(line, sizeof(line), "%lld%s%s\n", self, *text == '\0' ? "" : ": ", text);

	(void)!write(fd, line, (size_t)len);
}

static int fail(long long self, const char *what)
{
	char text[200];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	say(STDERR_FILENO, self, text);
	return 1;
}

static int wait_and_release(const char *wait, const char *lock, long long self)
{
	char path[4096];
	char text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s@w%lld", wait, self);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(self, "open");
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return fail(self, "read");
	close(fd);
	say(STDOUT_FILENO, self, "");
	snprintf(path, sizeof(path), "%s@w%lld", lock, self);
	return unlink(path) == 0 ? 0 : fail(self, "unlink");
}

static int wait_all(void)
{
	int status;
	int bad = 0;

	while (wait(&status) > 0)
		bad += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	return bad;
}

int main(int argc, char **argv)
{
	const char *wrong = NULL;
	long long count = argc == 4 ? strtonum(argv[3], 1, COUNT_MAX, &wrong) : 0;

	if (argc != 4 || wrong != NULL) {
		fputs("usage: mount-waiters WAIT LOCK COUNT\n", stderr);
		return 2;
	}
	for (long long i = 0; i < count; i++) {
		pid_t child = fork();

		if (child < 0) {
			perror("fork");
			return 1;
		}
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(wait_and_release(argv[1], argv[2], i));
		}
	}
	return wait_all() == 0 ? 0 : 1;
}
