#include "front.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_child.h"

/* The keeper has a process group of its own: a signal to the front's group reaches it once, through the front. */
static void keeper_main(const struct front *front, const sigset_t *before, front_fn *fn, void *arg)
{
	int code;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, before, NULL);
	signal(SIGTTOU, SIG_IGN);
	code = getppid() == front->pid ? fn(front, arg) : EXIT_SYSTEM;
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

static int front_run(const struct front *front, pid_t keeper, const sigset_t *before)
{
	sigset_t watched;
	int status;
	int number;

	run_child_signals(&watched);
	while (waitpid(keeper, &status, WNOHANG) != keeper) {
		number = sigwaitinfo(&watched, NULL);
		if (number > 0 && number != SIGCHLD)
			kill(keeper, number);
	}
	if (*front->group > 0)
		kill(-(pid_t)*front->group, SIGKILL);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return die_as(WTERMSIG(status), before);
}

int front_start(const struct tool *tool, front_fn *fn, void *arg)
{
	struct front front = { .pid = getpid(), .home = getpgrp() };
	void *page = mmap(NULL, sizeof(*front.group), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigset_t watched;
	sigset_t before;
	pid_t keeper;

	if (page == MAP_FAILED)
		return tool_fail(tool, EXIT_SYSTEM, "%s", strerror(errno));
	front.group = page;
	run_child_signals(&watched);
	sigprocmask(SIG_BLOCK, &watched, &before);
	fflush(NULL);
	keeper = fork();
	if (keeper == 0)
		keeper_main(&front, &before, fn, arg);
	if (keeper < 0)
		return tool_fail(tool, EXIT_SYSTEM, "fork: %s", strerror(errno));
	return front_run(&front, keeper, &before);
}
