#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "moment.h"

#define CLEAR_TRIES 300 /* half a minute */
#define CLEAR_PAUSE (ATLOCK_SECOND / 10)

void bench_path(const struct bench_place *place, const char *front, unsigned int number, const char *who,
		char out[BENCH_PATH])
{
	const char *dash = place->custom ? "" : "-/";

	(void)snprintf(out, BENCH_PATH, "%s%s/%s%u/%slock%s", front, place->dir, dash, number, dash, who);
}

static int directory_make(const struct bench_place *place)
{
	char path[BENCH_PATH];

	if (!place->custom)
		return 0;
	if (mkdirat(place->mount->fd, place->dir, 0700) != 0)
		return -errno;
	for (unsigned int i = 0; i < place->jobs; i++) {
		(void)snprintf(path, sizeof(path), "%s/%u", place->dir, i);
		if (mkdirat(place->mount->fd, path, 0700) != 0)
			return -errno;
	}
	return 0;
}

/* Takes a lock there and releases it. */
static int lock_try(struct bench_place *place)
{
	char path[BENCH_PATH];
	int err;

	bench_path(place, "", 0, place->who, path);
	err = mount_try(place->mount, path, O_CREAT | O_EXCL);
	if (err < 0)
		return err;
	return unlinkat(place->mount->fd, path, 0) == 0 ? 0 : -errno;
}

static int place_try(struct bench_place *place)
{
	int err = directory_make(place);

	place->who = "";
	if (err == 0)
		err = lock_try(place);
	if (err == -EINVAL) {
		place->who = "@bench";
		err = lock_try(place);
	}
	return err;
}

/* Releases and removes everything; false if something is left. */
static bool place_clear(const struct bench_place *place)
{
	static const char *const whos[] = { "", "@bench", "@one", "@two" };
	char path[BENCH_PATH];
	struct stat st;

	if (place->dir[0] == '\0')
		return true;
	for (unsigned int i = 0; i < place->jobs; i++) {
		for (size_t n = 0; n < sizeof(whos) / sizeof(whos[0]); n++) {
			bench_path(place, "", i, whos[n], path);
			(void)unlinkat(place->mount->fd, path, 0);
		}
		(void)snprintf(path, sizeof(path), "%s/%u", place->dir, i);
		if (place->custom)
			(void)unlinkat(place->mount->fd, path, AT_REMOVEDIR);
	}
	if (!place->custom)
		return true;
	(void)unlinkat(place->mount->fd, place->dir, AT_REMOVEDIR);
	return fstatat(place->mount->fd, place->dir, &st, 0) != 0;
}

int bench_place_make(struct bench_place *place)
{
	static const char *const trees[] = { "custom", "repos" };
	char why[2][512] = { "", "" };
	int err = 0;

	for (size_t i = 0; i < 2; i++) {
		place->custom = i == 0;
		(void)snprintf(place->dir, sizeof(place->dir), "%s/atlock-bench-%jd-%04x", trees[i], (intmax_t)getpid(),
			       arc4random_uniform(0x10000));
		err = place_try(place);
		if (err == 0)
			return EXIT_DONE;
		lockpath_why(place->mount, "", why[i], sizeof(why[i]));
		if (why[i][0] == '\0')
			(void)snprintf(why[i], sizeof(why[i]), "%s", strerror(-err));
		if (err == -ENOTCONN || !place_clear(place))
			break;
	}
	if (err != -EACCES && err != -EPERM)
		return tool_fail(place->tool, err == -EDQUOT ? EXIT_TRY_AGAIN : tool_exit_code(-err), "%s: %s",
				 place->dir, why[place->custom ? 0 : 1]);
	return tool_fail(place->tool, EXIT_PERMISSION,
			 "you may take no lock to measure with: below custom/: %s; below repos/: %s", why[0], why[1]);
}

/* --- The janitor --- */

/* Tries again: the lock that a killed process waited for may still be granted to it, and be released a moment later. */
static bool place_clear_patiently(const struct bench_place *place)
{
	for (unsigned int i = 0; i < CLEAR_TRIES; i++) {
		if (place_clear(place))
			return true;
		moment_sleep(CLEAR_PAUSE);
	}
	return false;
}

static void janitor_run(const struct bench_place *place, int alive)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	char byte;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
	while (read(alive, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(place_clear_patiently(place) ? 0 : 1);
}

struct bench_place *bench_place_open(const struct tool *tool, const struct mount *mount, unsigned int jobs)
{
	/* Shared memory: the janitor must see what is decided after the fork. */
	struct bench_place *place = mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
					 0);
	int ends[2] = { -1, -1 };
	pid_t janitor = -1; /* not in shared memory, where fork()'s two results would overwrite each other */
	int err;

	if (place == MAP_FAILED)
		return NULL;
	*place = (struct bench_place){ .tool = tool, .mount = mount, .jobs = jobs, .who = "" };
	if (pipe2(ends, O_CLOEXEC) == 0) {
		fflush(NULL);
		janitor = fork();
	}
	if (janitor == 0) {
		close(ends[1]);
		janitor_run(place, ends[0]);
	}
	err = errno;
	if (ends[0] >= 0)
		close(ends[0]);
	if (janitor > 0) {
		place->alive = ends[1];
		place->janitor = janitor;
		return place;
	}
	if (ends[1] >= 0)
		close(ends[1]);
	munmap(place, sizeof(*place));
	errno = err;
	return NULL;
}

int bench_place_close(struct bench_place *place)
{
	int code = EXIT_DONE;
	int status = -1;

	close(place->alive);
	while (waitpid(place->janitor, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		code = tool_fail(place->tool, EXIT_OUTPUT, "%s could not be removed", place->dir);
	munmap(place, sizeof(*place));
	return code;
}
