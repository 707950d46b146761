#include "leash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT };

static void signals_watched(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaddset(set, passed[i]);
}

/* A group of its own: a signal to the front's reaches the keeper once, through the front. */
static void keeper_run(const struct leash *leash, const sigset_t *before, leash_fn *fn, void *arg)
{
	int code;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, before, NULL);
	signal(SIGTTOU, SIG_IGN);
	code = getppid() == leash->front ? fn(leash, arg) : EXIT_SYSTEM;
	fflush(stdout);
	_exit(code);
}

/* Ends this process as the keeper was ended. */
static int die_as(int signal_number, const sigset_t *before)
{
	signal(signal_number, SIG_DFL);
	kill(getpid(), signal_number);
	sigprocmask(SIG_SETMASK, before, NULL);
	return 128 + signal_number;
}

static int front_run(const struct leash *leash, pid_t keeper, const sigset_t *before)
{
	sigset_t watched;
	int status;
	int number;

	signals_watched(&watched);
	while (waitpid(keeper, &status, WNOHANG) != keeper) {
		number = sigwaitinfo(&watched, NULL);
		if (number > 0 && number != SIGCHLD)
			kill(keeper, number);
	}
	if (*leash->group > 0)
		kill(-(pid_t)*leash->group, SIGKILL);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return die_as(WTERMSIG(status), before);
}

int leash_run(const struct tool *tool, leash_fn *fn, void *arg)
{
	struct leash leash = { .front = getpid(), .home = getpgrp() };
	void *page = mmap(NULL, sizeof(*leash.group), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigset_t watched;
	sigset_t before;
	pid_t keeper;

	if (page == MAP_FAILED)
		return tool_fail(tool, EXIT_SYSTEM, "%s", strerror(errno));
	leash.group = page;
	signals_watched(&watched);
	sigprocmask(SIG_BLOCK, &watched, &before);
	fflush(NULL);
	keeper = fork();
	if (keeper == 0)
		keeper_run(&leash, &before, fn, arg);
	if (keeper < 0)
		return tool_fail(tool, EXIT_SYSTEM, "fork: %s", strerror(errno));
	return front_run(&leash, keeper, &before);
}
