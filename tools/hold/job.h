/*
 * Runs a command in a process group of its own until it ends, and asks now and then whether it may go on.
 *
 * The group gets the signals that we get, and the terminal if we had it: then ^C and ^Z are the group's, and when it stops
 * so do we. Calling sequence: job_prepare() before whatever must be given back is taken for good, job_run(), give back,
 * job_pass_on().
 */
#ifndef TOOLS_JOB_H
#define TOOLS_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "command.h"

struct job {
	const struct tool *tool;
	char *const *argv;
	int64_t interval;         /* between two questions, in nanoseconds */
	bool (*check)(void *arg); /* whether it may go on; says so itself if not */
	void *arg;
	int64_t grace;                /* from SIGTERM to SIGKILL once it may not go on; ATLOCK_NEVER: no SIGKILL */
	pid_t home;                   /* the process group that had the terminal; 0: our own */
	pid_t parent;                 /* once this is not our parent any more, it may not go on; 0: never mind */
	volatile sig_atomic_t *group; /* gets the command's group while it runs; or NULL */
	bool ended_by_us;             /* out: it was told to end */
	/* The job's own: */
	sigset_t before;
	int terminal;
	int interrupted;
};

/* From here on signals wait for job_run(). */
void job_prepare(struct job *job);

/* Runs it: its exit status as a shell gives it (128 + signal), or an exit code once it has said what is wrong. */
int job_run(struct job *job);

/* If ^C ended it, this ends us and whoever shares our terminal with us, as it would have done without us. */
void job_pass_on(const struct job *job);

#endif
