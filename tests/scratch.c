/*
 * Scratch directories.
 */
#include "scratch.h"

#include <err.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define OPEN_DIRECTORIES 16

char *scratch_new(void)
{
	const char *parent = getenv("TMPDIR");
	char *path;

	if (asprintf(&path, "%s/atlock-test-XXXXXX", parent != NULL && *parent != 0 ? parent : "/tmp") < 0 ||
	    mkdtemp(path) == NULL)
		err(1, "scratch_new");
	return path;
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	if (remove(path) < 0)
		warn("%s", path);
	return 0;
}

void scratch_remove(char *path)
{
	if (path == NULL)
		return;
	(void)nftw(path, entry_remove, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(path);
}
