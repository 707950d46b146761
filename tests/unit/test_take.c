/*
 * Several locks are being taken when a signal ends the process: what it has is given back, under the name that it has by then.
 * The "mount" is a directory: a request under the first name ends in EINVAL, as one for a process that the daemon cannot see,
 * and one under the other name waits.
 */
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include "take.h"

/* Writing a request there is EINVAL. */
#define NO_NUMBER "/proc/self/oom_score_adj"
#define DELAYS 300 /* microseconds: the signal comes at each of them */
#define EARLY 97   /* an exit status */

static char *root;
static struct mount mount = { .fd = -1 };

static int file_make(const char *path)
{
	int fd = openat(mount.fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

static int tree_make(void **state)
{
	(void)state;
	root = scratch_new();
	mount.fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(mount.path, sizeof(mount.path), "%s", root);
	return mount.fd < 0 || mkdirat(mount.fd, "custom", 0700) != 0 || mkdirat(mount.fd, "wait", 0700) != 0 ||
	       mkdirat(mount.fd, "wait/custom", 0700) != 0 ||
	       symlinkat(NO_NUMBER, mount.fd, "wait/custom/a@one") != 0 ||
	       symlinkat(NO_NUMBER, mount.fd, "wait/custom/b@one") != 0 ||
	       mkfifoat(mount.fd, "wait/custom/a@two", 0600) != 0 || mkfifoat(mount.fd, "wait/custom/b@two", 0600) != 0;
}

static int tree_remove(void **state)
{
	(void)state;
	close(mount.fd);
	scratch_remove(root);
	return 0;
}

static void locks_make(void)
{
	assert_int_equal(file_make("custom/a@one"), 0);
	assert_int_equal(file_make("custom/b@one"), 0);
	assert_int_equal(file_make("custom/a@two"), 0);
	assert_int_equal(file_make("custom/b@two"), 0);
}

static bool is_there(const char *path)
{
	return faccessat(mount.fd, path, F_OK, 0) == 0;
}

static void signal_after(long microseconds)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM };
	struct itimerspec when = { .it_value = { .tv_nsec = microseconds * 1000 } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, NULL) != 0)
		_exit(99);
}

/* The signal came before anything was asked for. */
static void on_early(int number)
{
	(void)number;
	_exit(EARLY);
}

/* Takes both locks in a process of its own, which gets SIGTERM after so long, or from the caller if 0. */
static pid_t taker_start(long microseconds)
{
	static const struct tool tool = { .commands = NULL };
	struct take take = { .tool = &tool,
			     .mount = &mount,
			     .who = "@one",
			     .other = "@two",
			     .unique = true,
			     .text = "",
			     .wait = ATLOCK_NEVER,
			     .waiting = { .every = ATLOCK_NEVER } };
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	/* What is freed cannot be mistaken for what it was. */
	(void)mallopt(M_PERTURB, 0xa5);
	(void)signal(SIGTERM, on_early);
	if (take_add(&take, "custom/a") != EXIT_DONE || take_add(&take, "custom/b") != EXIT_DONE)
		_exit(98);
	if (microseconds > 0)
		signal_after(microseconds);
	_exit(take_all(&take));
}

/*
 * False if the signal was early. ThreadSanitizer may keep a signal until the process's next call, which is one that waits for a
 * signal: another one is sent then.
 */
static bool ended_by_signal(pid_t pid)
{
	int status = 0;
	pid_t ended;

	for (int tries = 1; (ended = waitpid(pid, &status, WNOHANG)) == 0; tries++) {
		usleep(1000);
		if (tries % 2000 == 0)
			kill(pid, SIGTERM);
	}
	assert_int_equal(ended, pid);
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), EARLY);
		return false;
	}
	assert_int_equal(WTERMSIG(status), SIGTERM);
	return true;
}

/* The first lock is there under the other name, the second is waited for. */
static void test_signal_gives_back_under_the_other_name(void **state)
{
	pid_t pid;
	char byte;
	int fd;

	(void)state;
	locks_make();
	pid = taker_start(0);
	fd = openat(mount.fd, "wait/custom/a@two", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, &byte, 1), 1);
	kill(pid, SIGTERM);
	assert_true(ended_by_signal(pid));
	close(fd);
	assert_false(is_there("custom/a@two"));
	assert_true(is_there("custom/a@one"));
}

/* Also while it changes names: a lock is given back under the name that it has, which is no memory that was freed. */
static void test_signal_at_any_moment(void **state)
{
	(void)state;
	for (long delay = 1; delay <= DELAYS; delay++) {
		locks_make();
		if (!ended_by_signal(taker_start(delay)))
			continue;
		assert_true(is_there("custom/a@one") != is_there("custom/a@two"));
		assert_true(is_there("custom/b@one") != is_there("custom/b@two"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_signal_gives_back_under_the_other_name, tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(test_signal_at_any_moment, tree_make, tree_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
