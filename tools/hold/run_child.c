#include "run_child.h"

#include <atlock.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moment.h"

#define POLL (ATLOCK_SECOND / 10) /* while a group ends */

/* As shells do it: not found, or found and not to be executed. */
static const struct tool_code codes[] = {
	{ ENOENT, EXIT_NOT_FOUND },     { ENOTDIR, EXIT_NOT_FOUND },    { EACCES, EXIT_NOT_EXECUTED },
	{ EPERM, EXIT_NOT_EXECUTED },   { ENOEXEC, EXIT_NOT_EXECUTED }, { EISDIR, EXIT_NOT_EXECUTED },
	{ ETXTBSY, EXIT_NOT_EXECUTED }, { E2BIG, EXIT_NOT_EXECUTED },   { ELOOP, EXIT_NOT_EXECUTED },
	{ EINVAL, EXIT_NOT_EXECUTED },  { EAGAIN, EXIT_SYSTEM },        { .err = 0 },
};

struct running {
	struct run_child *child;
	pid_t pid; /* of the command, and its group */
	int status;
	bool ended;
	int64_t check_at;
	int64_t kill_at;
};

void run_child_signals(sigset_t *out)
{
	static const int signals[] = {
		SIGCHLD, SIGCONT, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
	};

	sigemptyset(out);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(out, signals[i]);
}

void run_child_prepare(struct run_child *child)
{
	sigset_t blocked;

	if (child->home == 0)
		child->home = getpgrp();
	child->terminal = -1;
	run_child_signals(&blocked);
	/* SIGTTOU would stop a background process that hands the terminal over. */
	sigaddset(&blocked, SIGTTOU);
	sigprocmask(SIG_BLOCK, &blocked, &child->before);
}

/* --- The terminal --- */

static void terminal_give(const struct run_child *child, pid_t from, pid_t to)
{
	if (child->terminal >= 0 && tcgetpgrp(child->terminal) == from)
		(void)tcsetpgrp(child->terminal, to);
}

static void terminal_find(struct run_child *child)
{
	child->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

/* The command was stopped: hand the terminal back and stop as well, until SIGCONT. */
static void run_child_stopped(const struct running *running)
{
	const struct run_child *child = running->child;

	if (child->terminal < 0)
		return;
	terminal_give(child, running->pid, child->home);
	kill(-child->home, SIGTSTP);
}

static void run_child_continued(const struct running *running)
{
	terminal_give(running->child, running->child->home, running->pid);
	kill(-running->pid, SIGCONT);
}

/* --- The command --- */

/* In the new process. Only returns if the command cannot be run. */
static void run_child_exec(const struct run_child *child, pid_t starter)
{
	setpgid(0, 0);
	terminal_give(child, child->home, getpid());
	signal(SIGTTOU, SIG_DFL);
	if (child->parent != 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* If the parent died before prctl(), no signal comes. */
	if (getppid() != starter)
		_exit(127);
	sigprocmask(SIG_SETMASK, &child->before, NULL);
	execvp(child->argv[0], child->argv);
}

static int run_child_start(struct running *running)
{
	struct run_child *child = running->child;
	pid_t starter = getpid();
	int ends[2];
	int err = 0;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return tool_fail(child->tool, EXIT_SYSTEM, "pipe: %s", strerror(errno));
	terminal_find(child);
	/* Orphans of the command become children of this process, which so sees the end of the group. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	running->pid = fork();
	if (running->pid == 0) {
		run_child_exec(child, starter);
		err = errno;
		(void)!write(ends[1], &err, sizeof(err));
		_exit(127);
	}
	close(ends[1]);
	if (running->pid < 0)
		err = errno;
	else if (read(ends[0], &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(ends[0]);
	if (err == 0) {
		setpgid(running->pid, running->pid);
		if (child->group != NULL)
			*child->group = running->pid;
		return EXIT_DONE;
	}
	if (running->pid > 0)
		waitpid(running->pid, NULL, 0);
	terminal_give(child, running->pid, child->home);
	return tool_fail(child->tool, tool_exit_code_in(codes, err), "%s: %s", child->argv[0], strerror(err));
}

static void run_child_reap(struct running *running)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != running->pid)
			continue;
		if (WIFSTOPPED(status)) {
			run_child_stopped(running);
		} else {
			running->status = status;
			running->ended = true;
		}
	}
}

/* Once told to end, all of the group must be gone, not just its first process. */
static bool run_child_is_over(const struct running *running)
{
	if (!running->ended)
		return false;
	return !running->child->ended_by_us || running->child->grace == ATLOCK_NEVER || kill(-running->pid, 0) != 0;
}

static void run_child_end(struct running *running, int64_t time)
{
	running->child->ended_by_us = true;
	running->kill_at = running->child->grace == ATLOCK_NEVER ? ATLOCK_NEVER : time + running->child->grace;
	kill(-running->pid, SIGTERM);
	kill(-running->pid, SIGCONT);
}

/* Does what is due: the check, or SIGKILL. */
static void run_child_tick(struct running *running)
{
	struct run_child *child = running->child;
	bool orphan = child->parent != 0 && getppid() != child->parent;
	int64_t time = moment_steady();

	if (child->ended_by_us) {
		if (time >= running->kill_at) {
			running->kill_at = ATLOCK_NEVER;
			kill(-running->pid, SIGKILL);
		}
		return;
	}
	if (!orphan && time < running->check_at)
		return;
	running->check_at = time + child->interval;
	if (orphan || !child->check(child->arg))
		run_child_end(running, time);
}

static struct timespec run_child_pause(const struct running *running)
{
	int64_t until = running->child->ended_by_us ? running->kill_at : running->check_at;
	int64_t pause = until - moment_steady();

	if (running->child->ended_by_us && pause > POLL)
		pause = POLL;
	if (pause < 0)
		pause = 0;
	return moment_timespec(pause);
}

static void run_child_wait(struct running *running)
{
	struct timespec pause;
	sigset_t watched;
	int signal;

	run_child_signals(&watched);
	while (!run_child_is_over(running)) {
		pause = run_child_pause(running);
		signal = sigtimedwait(&watched, NULL, &pause);
		run_child_reap(running);
		if (signal == SIGCONT)
			run_child_continued(running);
		else if (signal > 0 && signal != SIGCHLD && !running->ended)
			kill(-running->pid, signal);
		run_child_tick(running);
	}
}

int run_child(struct run_child *child)
{
	struct running running = { .child = child, .check_at = moment_steady() + child->interval };
	int code = run_child_start(&running);
	bool had_terminal;

	if (code != EXIT_DONE)
		return code;
	run_child_wait(&running);
	if (child->group != NULL)
		*child->group = 0;
	had_terminal = child->terminal >= 0 && tcgetpgrp(child->terminal) == running.pid;
	terminal_give(child, running.pid, child->home);
	if (child->terminal >= 0)
		close(child->terminal);
	if (!WIFSIGNALED(running.status))
		return WEXITSTATUS(running.status);
	if (had_terminal && (WTERMSIG(running.status) == SIGINT || WTERMSIG(running.status) == SIGQUIT))
		child->interrupted = WTERMSIG(running.status);
	return 128 + WTERMSIG(running.status);
}

void run_child_pass_on(const struct run_child *child)
{
	sigset_t set;

	if (child->interrupted == 0)
		return;
	signal(child->interrupted, SIG_DFL);
	kill(-child->home, child->interrupted);
	kill(getpid(), child->interrupted);
	sigemptyset(&set);
	sigaddset(&set, child->interrupted);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
