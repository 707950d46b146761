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

#define OUTPUT_MAX 65536

/* curl reads no proxy and no language from the caller. */
static char *const environment[] = { "LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				     NULL };

static int probe_start(struct probe *probe, const char *seconds)
{
	char *const args[] = { "curl",        "-q",
			       "--silent",    "--head",
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

/* Whether a list of codes, "200,204,3xx", has this one. */
static bool codes_have(const char *codes, const char *code)
{
	size_t len;

	for (; *codes != '\0'; codes += len + (codes[len] == ',')) {
		len = strcspn(codes, ",");
		if (len == 3 && codes[0] == code[0] && (codes[1] == code[1] || codes[1] == 'x') &&
		    (codes[2] == code[2] || codes[2] == 'x'))
			return true;
	}
	return false;
}

bool probe_codes_check(const char *codes)
{
	size_t len;

	for (; *codes != '\0'; codes += len + (codes[len] == ',')) {
		len = strcspn(codes, ",");
		if (len != 3 || codes[0] < '1' || codes[0] > '5' || strspn(codes + 1, "0123456789x") < 2)
			return false;
	}
	return true;
}

/* No answer, a refused connection included, says nothing: the app may be behind a network that is down. */
static enum atlock_app_status probe_judge(int status, const char *text, const struct probe_codes *codes)
{
	const char *code = strstr(text, "\nstatus ");
	const char *next;

	/* The last one is curl's; a server may send such a line as well. */
	while (code != NULL && (next = strstr(code + 1, "\nstatus ")) != NULL)
		code = next;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || code == NULL)
		return ATLOCK_APP_UNKNOWN;
	code += strlen("\nstatus ");
	if (codes_have(codes->up, code))
		return ATLOCK_APP_UP;
	return codes->down[0] == '\0' || codes_have(codes->down, code) ? ATLOCK_APP_DOWN : ATLOCK_APP_UNKNOWN;
}

static void probe_finish(struct probe *probe, const struct probe_codes *codes, char *buf)
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
	probe->status = probe_judge(status, buf, codes);
}

int probe_all(struct probe *probes, size_t n, int64_t timeout, const struct probe_codes *codes)
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
		probe_finish(&probes[i], codes, buf);
	free(buf);
	return first;
}
