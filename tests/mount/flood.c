/*
 * One user's flood, and how long another's lock takes meanwhile.
 *
 *	mount-flood on DIRECTORY PROCESSES   each takes and gives back a lock of its own without a pause, until SIGTERM
 *	mount-flood time FILE ROUNDS         does so ROUNDS times; prints the median time of one, in microseconds
 */
#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 1000000

/* 0, or the errno. A refusal for asking too often is what a flood may get. */
static int cycle(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return errno == EAGAIN ? 0 : errno;
	close(fd);
	return unlink(path) == 0 ? 0 : errno;
}

static int flood(const char *directory, long long processes)
{
	pid_t parent = getpid();
	char path[4096];

	for (long long i = 1; i < processes && getpid() == parent; i++)
		if (fork() == 0)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* In a directory of its own: in one they would wait for each other in the kernel. */
	snprintf(path, sizeof(path), "%s/%d", directory, getpid());
	if (mkdir(path, 0755) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	snprintf(path, sizeof(path), "%s/%d/x", directory, getpid());
	for (;;) {
		int err = cycle(path);

		if (err != 0) {
			fprintf(stderr, "%s: %s\n", path, strerror(err));
			return 1;
		}
	}
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int measure(const char *path, size_t rounds)
{
	int64_t *took = calloc(rounds, sizeof(*took));

	if (took == NULL)
		return 1;
	for (size_t i = 0; i < rounds; i++) {
		struct timespec from;
		struct timespec to;
		int err;

		clock_gettime(CLOCK_MONOTONIC, &from);
		err = cycle(path);
		clock_gettime(CLOCK_MONOTONIC, &to);
		if (err != 0) {
			fprintf(stderr, "%s: %s\n", path, strerror(err));
			free(took);
			return 1;
		}
		took[i] = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
	}
	qsort(took, rounds, sizeof(*took), compare);
	printf("%jd\n", (intmax_t)(took[rounds / 2] / 1000));
	free(took);
	return 0;
}

int main(int argc, char **argv)
{
	const char *wrong = "?";
	long long n = argc == 4 ? strtonum(argv[3], 1, MOST, &wrong) : 0;

	if (wrong != NULL) {
		fputs("usage: mount-flood on DIRECTORY PROCESSES | time FILE ROUNDS\n", stderr);
		return 64;
	}
	return strcmp(argv[1], "on") == 0 ? flood(argv[2], n) : measure(argv[2], (size_t)n);
}
