#include "work_cycle.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_make(char out[PATH_MAX], const char *pattern, unsigned int number)
{
	const char *mark = strchr(pattern, '%');
	int len;

	if (mark == NULL)
		len = snprintf(out, PATH_MAX, "%s", pattern);
	else
		len = snprintf(out, PATH_MAX, "%.*s%u%s", (int)(mark - pattern), pattern, number, mark + 1);
	if (len >= PATH_MAX)
		errx(1, "%s: too long", pattern);
}

static void cycle_begin(void *arg, unsigned int number)
{
	struct cycle *cycle = arg;
	char dir[PATH_MAX];

	path_make(dir, cycle->directory, number);
	if (mkdir(dir, 0777) != 0 && errno != EEXIST && errno != EPERM)
		err(1, "%s", dir);
	if (!cycle->absolute && chdir(dir) != 0)
		err(1, "%s", dir);
	/* Names differ by process also where all share a directory. */
	if (snprintf(cycle->lock, PATH_MAX, "%s%slock-%u", cycle->absolute ? dir : "", cycle->absolute ? "/" : "",
		     number) >= PATH_MAX)
		errx(1, "%s: too long", dir);
}

static void cycle_step(void *arg)
{
	const struct cycle *cycle = arg;
	int fd = open(cycle->lock, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		err(1, "open %s", cycle->lock);
	if (close(fd) != 0)
		err(1, "close %s", cycle->lock);
	if (unlink(cycle->lock) != 0)
		err(1, "unlink %s", cycle->lock);
}

const struct work work_cycle = { .begin = cycle_begin, .step = cycle_step };
