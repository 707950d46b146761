#include "mounts.h"

#include <bsd/string.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "goals.h"
#include "procs.h"

#define PATHS 16
#define PATIENCE 60 /* seconds for a mount to come or go */

static const struct {
	const char *name;
	const char *program; /* NULL: an ordinary directory */
	const char *options;
	const char *below; /* where files can be made */
} places[PLACES] = {
	[PLACE_FLOOR] = { "floor", "bench_nullfs", "lifetime=0", "custom" },
	[PLACE_KEPT] = { "kept", "bench_nullfs", "lifetime=3600", "custom" },
	[PLACE_OFF] = { "off", "atlockfs", "sync=off", "custom" },
	[PLACE_COMMIT] = { "commit", "atlockfs", "sync=commit", "custom" },
	[PLACE_EMPTY] = { "empty", "atlockfs", "sync=off", "custom" },
	[PLACE_HELD] = { "held", "atlockfs", "sync=off", "custom" },
	[PLACE_MEMORY] = { "memory", "atlockfs", "sync=off,max_queue=100000,queue_timeout=1h", "custom" },
	[PLACE_DISK] = { "disk", NULL, NULL, "." },
	[PLACE_TMPFS] = { "tmpfs", NULL, NULL, "." },
};

static pid_t daemons[PLACES];

/* The paths of the last few calls, each in a buffer of its own. */
static char *path_buffer(void)
{
	static struct {
		char path[PATH_MAX];
	} paths[PATHS];
	static unsigned int turn;
	char *path = paths[turn++ % PATHS].path;

	path[0] = '\0';
	return path;
}

static const char *path_in(enum place place, const char *sub, const char *below)
{
	char *path = path_buffer();
	int len;

	if (place == PLACE_TMPFS)
		len = snprintf(path, PATH_MAX, "/dev/shm/%s/%s", strrchr(run.dir, '/') + 1, below);
	else
		len = snprintf(path, PATH_MAX, "%s/%s-%s/%s", run.dir, places[place].name, sub, below);
	if (len >= PATH_MAX)
		errx(1, "%s: too long", below);
	return path;
}

const char *mount_path(enum place place, const char *below)
{
	char inner[PATH_MAX];

	(void)snprintf(inner, sizeof(inner), "%s/%s", places[place].below, below);
	return path_in(place, "mnt", inner);
}

const char *mount_store(enum place place)
{
	return path_in(place, "store", "");
}

static pid_t child_fork(void)
{
	pid_t child = fork();

	if (child < 0)
		err(1, "fork");
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static void child_exec(char *const *argv, const char *log)
{
	int fd = log == NULL ? -1 : open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
	execvp(argv[0], argv);
	err(127, "%s", argv[0]);
}

int program_run(char *const *argv, int quiet)
{
	pid_t child = child_fork();
	int status;

	if (child == 0)
		child_exec(argv, quiet ? "/dev/null" : NULL);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

pid_t program_start(char *const *argv, const char *log)
{
	pid_t child = child_fork();

	if (child == 0) {
		setsid();
		child_exec(argv, log);
	}
	return child;
}

static int unmount(const char *path, const char *how)
{
	char *argv[] = { "fusermount3", (char *)how, (char *)path, NULL };

	return program_run(argv, 1);
}

static void directory_make(const char *path)
{
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		err(1, "%s", path);
}

static dev_t device_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		err(1, "%s", path);
	return st.st_dev;
}

/* A stat of a mount point that has just come waits for the daemon's answer. */
static void mount_wait(enum place place, const char *path, dev_t before, const char *log)
{
	double until = procs_clock() + PATIENCE;

	while (device_of(path) == before) {
		if (waitpid(daemons[place], NULL, WNOHANG) != 0)
			errx(1, "%s did not start; see %s", places[place].program, log);
		if (procs_clock() > until)
			errx(1, "%s is not there after %d s", path, PATIENCE);
		usleep(100);
	}
}

void mount_start(enum place place)
{
	const char *path = path_in(place, "mnt", "");
	const char *log = path_in(place, "log", "daemon.log");
	char program[PATH_MAX];
	char *floor[] = { program, "-o", (char *)places[place].options, (char *)path, NULL };
	char *daemon[] = { program,      "-f",
			   "--store",    (char *)mount_store(place),
			   "-o",         (char *)places[place].options,
			   (char *)path, NULL };
	dev_t before;

	directory_make(path);
	directory_make(path_in(place, "log", ""));
	if (places[place].program == NULL)
		return;
	if (snprintf(program, sizeof(program), "%s/%s", run.build, places[place].program) >= (int)sizeof(program))
		errx(1, "%s: too long", run.build);
	before = device_of(path);
	daemons[place] = program_start(strcmp(places[place].program, "atlockfs") == 0 ? daemon : floor, log);
	mount_wait(place, path, before, log);
	if (mkdir(mount_path(place, ""), 0777) != 0 && errno != EEXIST && errno != EPERM)
		err(1, "%s", mount_path(place, ""));
}

void mount_stop(enum place place)
{
	const char *path = path_in(place, "mnt", "");
	double until = procs_clock() + PATIENCE;

	if (daemons[place] == 0)
		return;
	/* Processes that were killed may need a moment to let go. */
	while (unmount(path, "-u") != 0) {
		if (procs_clock() > until)
			errx(1, "%s cannot be unmounted", path);
		usleep(20000);
	}
	(void)waitpid(daemons[place], NULL, 0);
	daemons[place] = 0;
}

double mount_anon(enum place place)
{
	char path[64];
	char line[256];
	unsigned long kilobytes = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)daemons[place]);
	file = fopen(path, "re");
	if (file == NULL)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "RssAnon:", 8) == 0)
			kilobytes = strtoul(line + 8, NULL, 10);
	}
	(void)fclose(file);
	return (double)kilobytes * 1024;
}

void mounts_clean(const char *dir)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < PLACES; i++) {
		char *argv[] = { "chattr", "-i", path, NULL };

		if (places[i].program == NULL)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s-mnt", dir, places[i].name);
		(void)unmount(path, "-uz");
		/* A daemon that died has left its mount point immutable. */
		(void)program_run(argv, 1);
	}
}
