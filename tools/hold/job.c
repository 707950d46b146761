#include "job.h"

#include <atlock.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "moment.h"

#define POLL (ATLOCK_SECOND / 10) /* while what is left of a group is to end */

static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

struct running {
	struct job *job;
	pid_t pid; /* of the command, and its group */
	int status;
	bool ended;
	int64_t check_at;
	int64_t kill_at;
};

static void signals_watched(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGCONT);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaddset(set, passed[i]);
}

void job_prepare(struct job *job)
{
	sigset_t blocked;

	if (job->home == 0)
		job->home = getpgrp();
	job->terminal = -1;
	signals_watched(&blocked);
	/* Whoever gives the terminal away is in the background, and would be stopped for it. */
	sigaddset(&blocked, SIGTTOU);
	sigprocmask(SIG_BLOCK, &blocked, &job->before);
}

/* --- The terminal --- */

static void terminal_give(const struct job *job, pid_t from, pid_t to)
{
	if (job->terminal >= 0 && tcgetpgrp(job->terminal) == from)
		(void)tcsetpgrp(job->terminal, to);
}

static void terminal_find(struct job *job)
{
	job->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

/* The command was stopped: hand the terminal back and stop as well, until somebody lets us go on. */
static void job_stopped(const struct running *running)
{
	const struct job *job = running->job;

	if (job->terminal < 0)
		return;
	terminal_give(job, running->pid, job->home);
	kill(-job->home, SIGTSTP);
}

static void job_continued(const struct running *running)
{
	terminal_give(running->job, running->job->home, running->pid);
	kill(-running->pid, SIGCONT);
}

/* --- The command --- */

/* In the new process. Only returns if the command cannot be run. */
static void child_exec(const struct job *job, pid_t starter)
{
	setpgid(0, 0);
	terminal_give(job, job->home, getpid());
	signal(SIGTTOU, SIG_DFL);
	if (job->parent != 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A death before that sent no signal. */
	if (getppid() != starter)
		_exit(127);
	sigprocmask(SIG_SETMASK, &job->before, NULL);
	execvp(job->argv[0], job->argv);
}

static int job_start(struct running *running)
{
	struct job *job = running->job;
	pid_t starter = getpid();
	int ends[2];
	int err = 0;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return tool_fail(job->tool, EXIT_SYSTEM, "pipe: %s", strerror(errno));
	terminal_find(job);
	/* What the command leaves behind becomes ours, so that the end of its group can be seen. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	running->pid = fork();
	if (running->pid == 0) {
		child_exec(job, starter);
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
		if (job->group != NULL)
			*job->group = running->pid;
		return EXIT_DONE;
	}
	if (running->pid > 0)
		waitpid(running->pid, NULL, 0);
	terminal_give(job, running->pid, job->home);
	return tool_fail(job->tool, err == EAGAIN || err == ENOMEM ? EXIT_SYSTEM : EXIT_NO_INPUT, "%s: %s",
			 job->argv[0], strerror(err));
}

static void job_reap(struct running *running)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != running->pid)
			continue;
		if (WIFSTOPPED(status)) {
			job_stopped(running);
		} else {
			running->status = status;
			running->ended = true;
		}
	}
}

/* Once told to end, all of the group must be gone, not just its first process. */
static bool job_is_over(const struct running *running)
{
	if (!running->ended)
		return false;
	return !running->job->ended_by_us || running->job->grace == ATLOCK_NEVER || kill(-running->pid, 0) != 0;
}

static void job_end(struct running *running, int64_t time)
{
	running->job->ended_by_us = true;
	running->kill_at = running->job->grace == ATLOCK_NEVER ? ATLOCK_NEVER : time + running->job->grace;
	kill(-running->pid, SIGTERM);
	kill(-running->pid, SIGCONT);
}

/* What the time asks for. */
static void job_tick(struct running *running)
{
	struct job *job = running->job;
	bool orphan = job->parent != 0 && getppid() != job->parent;
	int64_t time = moment_steady();

	if (job->ended_by_us) {
		if (time >= running->kill_at) {
			running->kill_at = ATLOCK_NEVER;
			kill(-running->pid, SIGKILL);
		}
		return;
	}
	if (!orphan && time < running->check_at)
		return;
	running->check_at = time + job->interval;
	if (orphan || !job->check(job->arg))
		job_end(running, time);
}

static struct timespec job_pause(const struct running *running)
{
	int64_t until = running->job->ended_by_us ? running->kill_at : running->check_at;
	int64_t pause = until - moment_steady();

	if (running->job->ended_by_us && pause > POLL)
		pause = POLL;
	if (pause < 0)
		pause = 0;
	return (struct timespec){ .tv_sec = (time_t)(pause / ATLOCK_SECOND), .tv_nsec = (long)(pause % ATLOCK_SECOND) };
}

static void job_wait(struct running *running)
{
	struct timespec pause;
	sigset_t watched;
	int signal;

	signals_watched(&watched);
	while (!job_is_over(running)) {
		pause = job_pause(running);
		signal = sigtimedwait(&watched, NULL, &pause);
		job_reap(running);
		if (signal == SIGCONT)
			job_continued(running);
		else if (signal > 0 && signal != SIGCHLD && !running->ended)
			kill(-running->pid, signal);
		job_tick(running);
	}
}

int job_run(struct job *job)
{
	struct running running = { .job = job, .check_at = moment_steady() + job->interval };
	int code = job_start(&running);
	bool had_terminal;

	if (code != EXIT_DONE)
		return code;
	job_wait(&running);
	if (job->group != NULL)
		*job->group = 0;
	had_terminal = job->terminal >= 0 && tcgetpgrp(job->terminal) == running.pid;
	terminal_give(job, running.pid, job->home);
	if (job->terminal >= 0)
		close(job->terminal);
	if (!WIFSIGNALED(running.status))
		return WEXITSTATUS(running.status);
	if (had_terminal && (WTERMSIG(running.status) == SIGINT || WTERMSIG(running.status) == SIGQUIT))
		job->interrupted = WTERMSIG(running.status);
	return 128 + WTERMSIG(running.status);
}

void job_pass_on(const struct job *job)
{
	sigset_t set;

	if (job->interrupted == 0)
		return;
	signal(job->interrupted, SIG_DFL);
	kill(-job->home, job->interrupted);
	kill(getpid(), job->interrupted);
	sigemptyset(&set);
	sigaddset(&set, job->interrupted);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
