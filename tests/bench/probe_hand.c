/*
 * Hand-over: the parent holds the lock, the child's read of wait/ blocks until it is the child's. They are of two sessions, as
 * two scripts are that name the lock and nothing else.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes.h"
#include "procs.h"

#define MICRO 1e6
#define PAUSE 500 /* microseconds before each sample: the waiter sleeps by then, as in real use */

struct hand {
	char lock[PATH_MAX];
	char wait[PATH_MAX];
	int go[2];
	int done[2];
	double *granted; /* shared: when the child's read returned */
};

static int sample_compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median and 99th percentile; and frees them. */
static void samples_show(double *took, unsigned int count, double out[2])
{
	qsort(took, count, sizeof(*took), sample_compare);
	out[0] = took[count / 2] * MICRO;
	out[1] = took[count * 99 / 100] * MICRO;
	free(took);
}

void probe_trip(const struct probe *probe, double *out)
{
	unsigned int count = run.scale->handovers;
	double *took = calloc(count, sizeof(*took));
	int fd = open(mount_path(probe->place, "trip"), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
	struct stat st;

	if (took == NULL || fd < 0)
		err(1, "%s", mount_path(probe->place, "trip"));
	for (unsigned int i = 0; i < count; i++) {
		double begun;

		usleep(PAUSE);
		begun = procs_clock();
		if (fstat(fd, &st) != 0)
			err(1, "fstat");
		took[i] = procs_clock() - begun;
	}
	close(fd);
	samples_show(took, count, out);
}

static void pass(int fd)
{
	if (write(fd, "", 1) != 1)
		err(1, "pipe");
}

static void await(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		errx(1, "the other process is gone");
}

static void waiter_run(const struct hand *hand, unsigned int count)
{
	char text[4096];

	for (unsigned int i = 0; i < count; i++) {
		int fd;

		await(hand->go[0]);
		fd = open(hand->wait, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
			err(1, "%s", hand->wait);
		*hand->granted = procs_clock();
		close(fd);
		if (unlink(hand->lock) != 0)
			err(1, "%s", hand->lock);
		pass(hand->done[1]);
	}
}

/* Returns once a process waits for the lock. */
static void queue_await(const char *lock)
{
	char text[4096];

	for (;;) {
		int fd = open(lock, O_RDONLY | O_CLOEXEC);
		ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (len < 0)
			err(1, "%s", lock);
		close(fd);
		text[len] = '\0';
		if (strstr(text, "\nwaiters=1\n") != NULL)
			return;
		usleep(50);
	}
}

static double hand_over(const struct hand *hand)
{
	int fd = open(hand->lock, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	double begun;

	if (fd < 0)
		err(1, "%s", hand->lock);
	close(fd);
	pass(hand->go[1]);
	queue_await(hand->lock);
	usleep(PAUSE);
	begun = procs_clock();
	if (unlink(hand->lock) != 0)
		err(1, "%s", hand->lock);
	await(hand->done[0]);
	return *hand->granted - begun;
}

static void hand_place(struct hand *hand, enum place place)
{
	(void)snprintf(hand->lock, PATH_MAX, "%s", mount_path(place, "hand"));
	(void)snprintf(hand->wait, PATH_MAX, "%s", mount_path(place, "../wait/custom/hand"));
	hand->granted = mmap(NULL, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hand->granted == MAP_FAILED || pipe2(hand->go, O_CLOEXEC) != 0 || pipe2(hand->done, O_CLOEXEC) != 0)
		err(1, "pipe");
}

void probe_hand(const struct probe *probe, double *out)
{
	unsigned int count = run.scale->handovers;
	double *took = calloc(count, sizeof(*took));
	struct hand hand = { .granted = NULL };
	pid_t child;

	hand_place(&hand, probe->place);
	child = fork();
	if (took == NULL || child < 0)
		err(1, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setsid() < 0)
			err(1, "setsid");
		waiter_run(&hand, count);
		_exit(0);
	}
	close(hand.done[1]);
	for (unsigned int i = 0; i < count; i++)
		took[i] = hand_over(&hand);
	(void)waitpid(child, NULL, 0);
	samples_show(took, count, out);
}
