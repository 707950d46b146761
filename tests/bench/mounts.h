/*
 * The file systems of a run: atlockfs in several settings and the null file system, each on a store of its own.
 */
#ifndef BENCH_MOUNTS_H
#define BENCH_MOUNTS_H

#include <stddef.h>
#include <sys/types.h>

enum place {
	PLACE_FLOOR, /* the null file system */
	PLACE_KEPT,  /* with cache lifetimes */
	PLACE_OFF,   /* atlockfs, sync=off */
	PLACE_COMMIT,
	PLACE_EMPTY, /* sync=off, mounted by probes: with nothing in it */
	PLACE_HELD,  /* with all the locks held */
	PLACE_MEMORY,
	PLACE_DISK,  /* no mount: a directory beside the stores */
	PLACE_TMPFS, /* and one in memory */
	PLACES
};

/* Both exit if they cannot. A place without a mount needs no stop. */
void mount_start(enum place place);
void mount_stop(enum place place);

/* Where locks and files go: custom/ of a mount. Valid for the next few calls. */
const char *mount_path(enum place place, const char *below);

/* The folder of a place's store. */
const char *mount_store(enum place place);

/* Bytes of anonymous memory the place's daemon has. */
double mount_anon(enum place place);

/* Ends what a run that did not come to its end has left below `dir`: mounts. */
void mounts_clean(const char *dir);

/* Runs a program to its end; returns its status, or -1. `argv` ends with NULL. Its output goes nowhere if `quiet`. */
int program_run(char *const *argv, int quiet);

/* Starts a program that dies with the caller; its output goes to `log`. Exits if it cannot. */
pid_t program_start(char *const *argv, const char *log);

#endif
