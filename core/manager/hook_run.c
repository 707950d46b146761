#include "hook_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Uses an anonymous file, not a pipe: a pipe may hold as little as one page, and the writer must not wait for the reader. */
static int text_open(const char *text, size_t len)
{
	int fd = memfd_create("atlockfs-event", MFD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	err = errno != 0 ? -errno : -EIO;
	close(fd);
	return err;
}

/* Copies the environment without the service manager's variables: they are meant for the daemon, not for a hook. */
static char **environment_copy(void)
{
	size_t count = 0;
	char **copy;

	while (environ[count] != NULL)
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0, at = 0; copy != NULL && i < count; i++)
		if (strncmp(environ[i], "NOTIFY_SOCKET=", 14) != 0 && strncmp(environ[i], "WATCHDOG_", 9) != 0)
			copy[at++] = environ[i];
	return copy;
}

static int attributes_set(posix_spawnattr_t *attr)
{
	sigset_t none;
	sigset_t all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	posix_spawnattr_setpgroup(attr, 0);
	return posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

static int actions_set(posix_spawn_file_actions_t *actions, int text)
{
	int err = posix_spawn_file_actions_adddup2(actions, text, STDIN_FILENO);

	if (err == 0)
		err = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (err == 0)
		err = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	/*
	 * Closes also descriptors that a library did not mark close-on-exec: a child with the mount's descriptor would keep the
	 * mount alive.
	 */
	if (err == 0)
		err = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
	return err == 0 ? posix_spawn_file_actions_addchdir_np(actions, "/") : err;
}

static int run_spawn(pid_t *pid, const char *command, int text)
{
	char name[] = "sh";
	char option[] = "-c";
	char *const argv[] = { name, option, (char *)(uintptr_t)command, NULL };
	char **env = environment_copy();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int err = ENOMEM;

	if (env == NULL || posix_spawn_file_actions_init(&actions) != 0)
		goto out;
	if (posix_spawnattr_init(&attr) == 0) {
		err = actions_set(&actions, text);
		if (err == 0)
			err = attributes_set(&attr);
		if (err == 0)
			err = posix_spawn(pid, "/bin/sh", &actions, &attr, argv, env);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&actions);
out:
	free(env);
	return -err;
}

int hook_run_start(struct hook_run *run, const char *command, const char *text, size_t len)
{
	int fd = text_open(text, len);
	int rc;

	run->pid = 0;
	if (fd < 0)
		return fd;
	rc = run_spawn(&run->pid, command, fd);
	close(fd);
	if (rc < 0)
		return rc;
	run->fd = pidfd_open(run->pid, 0);
	if (run->fd >= 0)
		return 0;
	rc = -errno;
	hook_run_kill(run);
	return rc;
}

static void run_over(struct hook_run *run)
{
	if (run->fd >= 0)
		close(run->fd);
	run->fd = -1;
	run->pid = 0;
}

int hook_run_check(struct hook_run *run, int *status)
{
	if (waitpid(run->pid, status, WNOHANG) == 0)
		return 1;
	run_over(run);
	return 0;
}

void hook_run_kill(struct hook_run *run)
{
	int status;
	pid_t got;

	(void)kill(-run->pid, SIGKILL);
	do
		got = waitpid(run->pid, &status, 0);
	while (got < 0 && errno == EINTR);
	run_over(run);
}
