#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "complain.h"

static int start_failed(void)
{
	return -complain("start", strerror(errno));
}

int daemon_fork(int *ready_fd)
{
	int fds[2];
	char byte;
	int status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return start_failed();
	pid = fork();
	if (pid < 0)
		return start_failed();
	if (pid == 0) {
		close(fds[0]);
		*ready_fd = fds[1];
		setsid();
		unsetenv("NOTIFY_SOCKET"); /* the parent, which the service manager started, reports by exiting */
		return chdir("/") == 0 ? -1 : 1;
	}
	close(fds[1]);
	if (read(fds[0], &byte, 1) == 1)
		return 0;
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return WEXITSTATUS(status);
	return 1;
}

void daemon_detach(bool keep_stderr)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (!keep_stderr)
		dup2(null, STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

void daemon_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
