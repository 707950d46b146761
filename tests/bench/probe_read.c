#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes.h"
#include "procs.h"

#define MICRO 1e6
#define TEXT_MAX 4096

/* What a held lock says, so that the files of the null file system say as much. */
static char text[TEXT_MAX];
static ssize_t text_len;

static void file_make(const char *path, bool fill)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0 || (fill && write(fd, text, (size_t)text_len) != text_len))
		err(1, "%s", path);
	close(fd);
}

void read_prepare(enum place place)
{
	bool is_floor = place == PLACE_FLOOR || place == PLACE_KEPT;
	char name[PATH_MAX];

	file_make(mount_path(place, "read"), is_floor);
	if (!is_floor) {
		int fd = open(mount_path(place, "read"), O_RDONLY | O_CLOEXEC);

		text_len = fd < 0 ? -1 : read(fd, text, sizeof(text));
		if (text_len <= 0)
			err(1, "a lock says nothing");
		close(fd);
	}
	if (mkdir(mount_path(place, "many"), 0777) != 0)
		err(1, "%s", mount_path(place, "many"));
	for (unsigned int i = 0; i < run.scale->files; i++) {
		(void)snprintf(name, sizeof(name), "many/lock-%05u", i);
		file_make(mount_path(place, name), false);
	}
}

/* As cat(1) does. */
static void cat_step(void *arg)
{
	char buf[1 << 17];
	struct stat st;
	int fd = open(arg, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0 || read(fd, buf, sizeof(buf)) <= 0 || read(fd, buf, sizeof(buf)) != 0)
		err(1, "%s", (const char *)arg);
	close(fd);
}

static void cat_begin(void *arg, unsigned int number)
{
	(void)arg;
	(void)number;
}

void probe_cat(const struct probe *probe, double *out)
{
	static const struct work work = { .begin = cat_begin, .step = cat_step };
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s", mount_path(probe->place, "read"));
	*out = procs_rate(&work, path, 1, run.scale->seconds, 0);
}

void probe_ls(const struct probe *probe, double *out)
{
	char path[PATH_MAX];
	char *argv[] = { "ls", "-l", path, NULL };
	double begun;

	(void)snprintf(path, sizeof(path), "%s", mount_path(probe->place, "many"));
	begun = procs_clock();
	for (unsigned int i = 0; i < run.scale->lists; i++) {
		if (program_run(argv, 1) != 0)
			errx(1, "ls -l %s failed", path);
	}
	*out = (procs_clock() - begun) / run.scale->lists * MICRO;
}
