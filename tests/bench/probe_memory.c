#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes.h"
#include "work_cycle.h"

#define PATIENCE 120 /* seconds until all wait */

/* Before anything is measured: enough cycles to fill the store's log, and enough who wait at once for all threads to be there. */
#define WARM_PROCESSES 64
#define WARM_CYCLES 64
#define WARM_WAITERS 256

static void lock_take(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		err(1, "%s", path);
	close(fd);
}

/* A fresh store and daemon, which has what it needs however much there is to do. */
static void memory_begin(enum place place)
{
	char *remove[] = { "rm", "-rf", (char *)mount_store(place), NULL };
	struct cycle cycle = { .directory = NULL };

	if (program_run(remove, 0) != 0)
		errx(1, "%s cannot be removed", mount_store(place));
	mount_start(place);
	cycle.directory = mount_path(place, "warm-%");
	(void)procs_rate(&work_cycle, &cycle, WARM_PROCESSES, 0, WARM_CYCLES);
}

static unsigned long waiters_of(const char *lock)
{
	char text[4096];
	int fd = open(lock, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *line;

	if (len < 0)
		err(1, "%s", lock);
	close(fd);
	text[len] = '\0';
	line = strstr(text, "\nwaiters=");
	return line == NULL ? 0 : strtoul(line + strlen("\nwaiters="), NULL, 10);
}

/* Ends with what the first of them said, if any did. */
static void waiters_complain(unsigned long waiting, unsigned int count, const char *log)
{
	char text[256] = "";
	int fd = open(log, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[len < 0 ? 0 : strcspn(text, "\n")] = '\0';
	errx(1, "only %lu of %u wait%s%s", waiting, count, *text == '\0' ? "" : "; waiter ", text);
}

/* Takes a lock and has so many wait for it; returns the process that they end with. */
static pid_t waiters_start(enum place place, const char *name, unsigned int number)
{
	char program[PATH_MAX];
	char wait[PATH_MAX];
	char lock[PATH_MAX];
	char log[PATH_MAX];
	char count[16];
	char *argv[] = { program, wait, lock, count, NULL };
	double until = procs_clock() + PATIENCE;
	pid_t waiters;

	(void)snprintf(program, sizeof(program), "%s/mount-waiters", run.build);
	(void)snprintf(wait, sizeof(wait), "%s/%s", mount_path(place, "../wait/custom"), name);
	(void)snprintf(lock, sizeof(lock), "%s", mount_path(place, name));
	(void)snprintf(count, sizeof(count), "%u", number);
	(void)snprintf(log, sizeof(log), "%s/waiters.log", run.dir);
	lock_take(lock);
	waiters = program_start(argv, log);
	while (waiters_of(lock) < number) {
		if (procs_clock() > until || waitpid(waiters, NULL, WNOHANG) != 0)
			waiters_complain(waiters_of(lock), number, log);
		usleep(20000);
	}
	return waiters;
}

static void waiters_end(pid_t waiters)
{
	kill(waiters, SIGKILL);
	(void)waitpid(waiters, NULL, 0);
}

void probe_parked(const struct probe *probe, double *out)
{
	double before;
	pid_t waiters;

	memory_begin(probe->place);
	waiters_end(waiters_start(probe->place, "warm", WARM_WAITERS));
	before = mount_anon(probe->place);
	waiters = waiters_start(probe->place, "parked", run.scale->parked);
	*out = (mount_anon(probe->place) - before) / run.scale->parked;
	waiters_end(waiters);
	mount_stop(probe->place);
}

void probe_cached(const struct probe *probe, double *out)
{
	double before;
	char name[64];

	memory_begin(probe->place);
	before = mount_anon(probe->place);
	for (unsigned int i = 0; i < run.scale->files; i++) {
		(void)snprintf(name, sizeof(name), "lock-%05u", i);
		lock_take(mount_path(probe->place, name));
	}
	*out = (mount_anon(probe->place) - before) / run.scale->files;
	mount_stop(probe->place);
}
