/* The lines of the event log: of files that are named, or of all in the mount's events/. */
#ifndef TOOLS_EVENTS_H
#define TOOLS_EVENTS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "mount.h"

struct events {
	const struct tool *tool;
	const struct mount *mount; /* where events/ is, if no file is named */
	char *const *files;
	int count;
	/* Whether a file is of interest, by the day in its name ("2026-11-16"); NULL: all are. */
	bool (*wants)(void *arg, const char *day);
	/* A file begins; a line of it, ended by a NUL in the place of its newline; 0 to go on, else an exit code. */
	void (*file)(void *arg, const char *name);
	int (*line)(void *arg, char *text, size_t len, bool whole);
	void *arg;
};

/* Reads them all, those of the mount in the order of their days; "-" is standard input. EXIT_DONE or another exit code. */
int events_each(const struct events *events);

/*
 * The entries of the mount's events/ that are days, in their order; each is malloc'ed, and so is the array. How many, or, once it
 * has said what is wrong, a negative exit code.
 */
int events_days(const struct tool *tool, const struct mount *mount, struct dirent ***out);

#endif
