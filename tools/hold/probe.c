#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CURL_CANNOT_CONNECT 7
#define OUTPUT_MAX 65536

/*
 * curl's exit status does not tell a refused connection, which says that nothing listens, from a network that is down,
 * which says nothing; its messages do. They are read in one language, and a wording that is not known is no answer.
 */
static char *const environment[] = { "LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				     NULL };

static int probe_start(struct probe *probe, const char *seconds)
{
	char *const args[] = { "curl",        "-q",
			       "--silent",    "--verbose",
			       "--stderr",    "-",
			       "--output",    "/dev/null",
			       "--write-out", "\nstatus %{http_code}\n",
			       "--noproxy",   "*",
			       "--proto",     "=http,https",
			       "--max-time",  (char *)(uintptr_t)seconds,
			       "--",          (char *)(uintptr_t)probe->url,
			       NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int ends[2];
	int err;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	err = posix_spawnp(&probe->pid, args[0], &actions, &attributes, args, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	close(ends[1]);
	probe->fd = ends[0];
	if (err != 0) {
		probe->pid = 0;
		close(ends[0]);
	}
	return -err;
}

/* Reads curl's output to its end, so that curl does not block, and keeps what fits. */
static void output_read(int fd, char *out, size_t len)
{
	char rest[4096] = { 0 };
	size_t used = 0;
	ssize_t n;

	do {
		bool room = used + 1 < len;

		n = read(fd, room ? out + used : rest, room ? len - 1 - used : sizeof(rest));
		if (n > 0 && room)
			used += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	out[used] = '\0';
	close(fd);
}

/* Whether curl tried an address, and every one that it tried refused the connection. */
static bool output_refused(const char *text)
{
	static const char failed[] = " failed: ";
	static const char refused[] = "Connection refused\n";
	bool any = false;

	while ((text = strstr(text, failed)) != NULL) {
		text += sizeof(failed) - 1;
		if (strncmp(text, refused, sizeof(refused) - 1) != 0)
			return false;
		any = true;
	}
	return any;
}

static enum atlock_app_status probe_judge(int status, const char *text)
{
	const char *code = strstr(text, "\nstatus ");
	const char *next;

	if (!WIFEXITED(status))
		return ATLOCK_APP_UNKNOWN;
	if (WEXITSTATUS(status) == CURL_CANNOT_CONNECT)
		return output_refused(text) ? ATLOCK_APP_DOWN : ATLOCK_APP_UNKNOWN;
	/* The last one is curl's; a server may send such a line as well. */
	while (code != NULL && (next = strstr(code + 1, "\nstatus ")) != NULL)
		code = next;
	return WEXITSTATUS(status) == 0 && code != NULL && code[8] == '2' ? ATLOCK_APP_UP : ATLOCK_APP_UNKNOWN;
}

static void probe_finish(struct probe *probe, char *buf)
{
	int status = 0;

	probe->status = ATLOCK_APP_UNKNOWN;
	if (probe->pid == 0)
		return;
	output_read(probe->fd, buf, OUTPUT_MAX);
	while (waitpid(probe->pid, &status, 0) < 0)
		if (errno != EINTR)
			return;
	probe->pid = 0;
	probe->status = probe_judge(status, buf);
}

int probe_all(struct probe *probes, size_t n, int64_t timeout)
{
	char *buf = malloc(OUTPUT_MAX);
	char seconds[32];
	int err = buf == NULL ? -ENOMEM : 0;
	int first = err;

	(void)snprintf(seconds, sizeof(seconds), "%.3f", (double)timeout / (double)ATLOCK_SECOND);
	for (size_t i = 0; i < n; i++) {
		probes[i].pid = 0;
		err = first == 0 ? probe_start(&probes[i], seconds) : first;
		if (first == 0)
			first = err;
	}
	for (size_t i = 0; buf != NULL && i < n; i++)
		probe_finish(&probes[i], buf);
	free(buf);
	return first;
}
