/* The process itself: becoming another program, telling a script how far it is, and waiting for one. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys.h"

/* exec PROGRAM [ARG]...: becomes a program that has the file as its stdin. */
static int do_exec(char **a)
{
	char *args[SYS_ARGS_MAX + 1] = { 0 };

	for (int i = 0; i < SYS_ARGS_MAX && a[i][0] != '\0'; i++)
		args[i] = a[i];
	return dup2(sys_fd, STDIN_FILENO) < 0 ? -1 : execvp(a[0], args);
}

/* Tells the script how far we are. */
static int do_mark(char **a)
{
	int mark = open(a[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return mark < 0 ? -1 : close(mark);
}

static int do_await(char **a)
{
	while (access(a[0], F_OK) != 0)
		usleep(5000);
	return 0;
}

static int do_pause(char **a)
{
	(void)a;
	return pause();
}

/* The steps after it run in a child, which keeps the open files; this process goes on to wait for it. */
static int do_fork(char **a)
{
	int status = 0;
	pid_t pid = fork();

	(void)a;
	if (pid <= 0)
		return pid;
	waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* The steps after it run in a child that nobody waits for; this process is done. */
static int do_leave(char **a)
{
	pid_t pid = fork();

	(void)a;
	if (pid > 0)
		_exit(0);
	return pid;
}

const struct sys_step sys_process_steps[] = {
	{ "exec", do_exec, 1 }, { "mark", do_mark, 1 },   { "await", do_await, 1 }, { "pause", do_pause, 0 },
	{ "fork", do_fork, 0 }, { "leave", do_leave, 0 }, { NULL, NULL, 0 },
};
