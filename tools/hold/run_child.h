/*
 * Runs a command in a process group of its own until it ends, and asks now and then whether it may go on.
 *
 * The group gets the signals that this process gets, and the terminal if this process had it: then ^C and ^Z are the group's,
 * and when the group stops, so does this process. Calling sequence: run_child_prepare(), take the locks, run_child(), give the
 * locks back, run_child_pass_on().
 */
#ifndef TOOLS_RUN_CHILD_H
#define TOOLS_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "command.h"

struct run_child {
	const struct tool *tool;
	char *const *argv;
	int64_t interval;         /* between two questions, in nanoseconds */
	bool (*check)(void *arg); /* whether the command may go on; tells the user why not */
	void *arg;
	int64_t grace;                /* from SIGTERM to SIGKILL once it may not go on; ATLOCK_NEVER: no SIGKILL */
	pid_t home;                   /* the process group that had the terminal; 0: this process' own */
	pid_t parent;                 /* once this is not our parent any more, the command must end; 0: any */
	volatile sig_atomic_t *group; /* gets the command's group while it runs; or NULL */
	bool ended_by_us;             /* out: it was told to end */
	/* Private: */
	sigset_t before;
	int terminal;
	int interrupted;
};

/* The signals that are waited for: those that are passed on, and those that tell of a child. */
void run_child_signals(sigset_t *out);

/* From here on signals wait for run_child(). */
void run_child_prepare(struct run_child *child);

/* Runs it: its exit status as a shell gives it (128 + signal), or an exit code once it has said what is wrong. */
int run_child(struct run_child *child);

/* If ^C ended the command, ends this process and its group by the same signal, as ^C would have done without us. */
void run_child_pass_on(const struct run_child *child);

#endif
