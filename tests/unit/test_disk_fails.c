/*
 * A disk that fails under LMDB's file: at the page that makes a transaction current, at the pages before it, or at the sync
 * between. What was answered stays, what cannot be kept is refused and says so, health tells, and the next open goes on.
 * pwrite(), writev() and fdatasync() are the test's own, for LMDB too.
 */
#include "rounds.h"
#include "stage.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "health.h"
#include "state.h"

enum fault { NONE, META, PAGES, SYNC };

static _Atomic enum fault fault;
static ino_t data; /* data.mdb */
static atomic_uint faults;

static bool is_data(int fd)
{
	struct stat st;

	return fault != NONE && fstat(fd, &st) == 0 && st.st_ino == data;
}

static bool fails(bool hit)
{
	if (!hit)
		return false;
	faults++;
	errno = EIO;
	return true;
}

/* LMDB writes that page through a descriptor of its own. What it writes then is in the kernel all the same. */
static bool is_meta(int fd)
{
	return (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
}

/* Both names: which one a caller means depends on its flags, and LMDB's are not ours. */
ssize_t test_pwrite(int fd, const void *bytes, size_t len, off_t at) __asm__("pwrite");
ssize_t test_pwrite64(int fd, const void *bytes, size_t len, off_t at) __asm__("pwrite64");

ssize_t test_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	if (fails(is_data(fd) && fault == PAGES && !is_meta(fd)))
		return -1;
	ssize_t n = syscall(SYS_pwrite64, fd, bytes, len, at);
	return fails(is_data(fd) && fault == META && is_meta(fd)) ? -1 : n;
}

ssize_t test_pwrite64(int fd, const void *bytes, size_t len, off_t at)
{
	return test_pwrite(fd, bytes, len, at);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the headers' names are reserved. */
ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return fails(is_data(fd) && fault == PAGES) ? -1 : syscall(SYS_writev, fd, parts, count);
}

int fdatasync(int fd)
{
	return fails(is_data(fd) && fault == SYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static void data_find(const struct stage *s)
{
	struct stat st;
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/data.mdb", s->dir);
	assert_int_equal(stat(path, &st), 0);
	data = st.st_ino;
}

static int setup(void **state)
{
	fault = NONE;
	faults = 0;
	(void)stage_setup_live(state);
	struct stage *s = *state;
	stage_close(s);
	s->options.sync = ATLOCK_SYNC_COMMIT;
	stage_open(s);
	data_find(s);
	return 0;
}

static int teardown(void **state)
{
	fault = NONE;
	return stage_teardown(state);
}

static void assert_health(struct stage *s, const char *first, const char *check)
{
	size_t len = 0;

	s->al->health->done -= 2 * ATLOCK_SECOND;
	char *text = atlock_health_text(s->al, true, &len);
	assert_non_null(text);
	if (strncmp(text, first, strlen(first)) != 0 || strstr(text, check) == NULL)
		fail_msg("no \"%s\" and \"%s\" in:\n%s", first, check, text);
	free(text);
}

/* Two locks are held, one of them in LMDB and one in the log, and the disk begins to fail. */
static void begin(struct stage *s, enum fault what)
{
	assert_int_equal(stage_acquire(s, "global/settled", "alice@1", 0), 0);
	assert_int_equal(store_flush(s->al->store), 0);
	assert_int_equal(stage_acquire(s, "global/logged", "alice@1", 0), 0);
	fault = what;
}

/* The disk works again. */
static void reopen_and_check(struct stage *s)
{
	fault = NONE;
	stage_reopen(s);
	assert_string_equal(stage_holder(s, "global/settled"), "alice@1");
	assert_string_equal(stage_holder(s, "global/logged"), "alice@1");
	assert_string_equal(stage_holder(s, "global/refused"), "free");
	assert_int_equal(stage_release(s, "global/settled", "alice@1"), 0);
	assert_int_equal(stage_release(s, "global/logged", "alice@1"), 0);
	assert_int_equal(stage_acquire(s, "global/after", "alice@1", 0), 0);
	assert_int_equal(store_flush(s->al->store), 0);
	assert_health(s, "ok\n", "\nstore=ok\n");
}

/* Nobody knows whether the transaction is on disk: neither the old nor the new may be built upon. */
static void after_the_page_that_counts_nothing_goes_on(void **state)
{
	struct stage *s = *state;

	begin(s, META);
	assert_int_equal(store_flush(s->al->store), -EIO);
	assert_int_equal(faults, 1);
	fault = NONE; /* what came of it stays, whatever the disk does now */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(stage_acquire(s, "global/refused", "alice@1", 0), -EIO);
		assert_int_equal(s->why.code, ATLOCK_BACKEND_ERROR);
		assert_non_null(strstr(s->why.text, "until the daemon is started again"));
		assert_int_equal(stage_release(s, "global/settled", "alice@1"), -EIO);
	}
	assert_health(s, "failing store", "started again");
	reopen_and_check(s);
}

/* Before that page nothing has changed: the log goes on, and health tells that it cannot go on for ever. */
static void log_goes_on(struct stage *s, enum fault what)
{
	begin(s, what);
	assert_int_equal(store_flush(s->al->store), -EIO);
	assert_true(faults > 0);
	assert_int_equal(stage_acquire(s, "global/more", "alice@1", 0), 0);
	assert_health(s, "failing store", "its main file cannot be written: Input/output error");
	fault = NONE;
	assert_int_equal(store_flush(s->al->store), 0);
	assert_health(s, "ok\n", "\nstore=ok\n");
	assert_string_equal(stage_holder(s, "global/more"), "alice@1");
	reopen_and_check(s);
}

static void after_a_sync_that_failed_the_log_goes_on(void **state)
{
	log_goes_on(*state, SYNC);
}

static void after_a_page_that_failed_the_log_goes_on(void **state)
{
	log_goes_on(*state, PAGES);
}

#define MOST 100000

static void when_the_log_is_full_changes_are_refused(void **state)
{
	struct stage *s = *state;
	char lock[64];
	int rc = 0;
	int n = 0;

	begin(s, SYNC);
	for (; n < MOST && rc == 0; n += rc == 0) {
		(void)snprintf(lock, sizeof(lock), "global/n%d", n);
		rc = stage_acquire(s, lock, "alice@1", 0);
	}
	assert_int_equal(rc, -EIO);
	assert_int_equal(s->why.code, ATLOCK_BACKEND_ERROR);
	assert_non_null(strstr(s->why.text, "Input/output error"));
	assert_in_range(n, 300, MOST - 1);
	assert_health(s, "failing store", "Input/output error");
	assert_int_equal(stage_release(s, "global/settled", "alice@1"), -EIO);
	fault = NONE;
	stage_reopen(s);
	for (int i = 0; i < n; i += STRIDE) {
		(void)snprintf(lock, sizeof(lock), "global/n%d", i);
		assert_string_equal(stage_holder(s, lock), "alice@1");
	}
	(void)snprintf(lock, sizeof(lock), "global/n%d", n);
	assert_string_equal(stage_holder(s, lock), "free");
	reopen_and_check(s);
}

/* A killed daemon's log is given to LMDB by the next one, on a disk that fails. */
static void a_store_that_cannot_be_written_is_not_opened(void **state)
{
	struct stage *s = *state;
	static const enum fault each[] = { META, SYNC };
	struct atlock_setup how = { .options = &s->options, .host = "host" };
	struct atlock *al = NULL;
	int status;

	stage_close(s);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		pid_t pid = fork();
		if (pid == 0) {
			stage_open(s);
			begin(s, NONE);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		fault = each[i];
		assert_int_equal(atlock_open(&al, s->dir, &how, &s->why), -EIO);
		assert_non_null(strstr(s->why.text, "cannot be written: Input/output error"));
		fault = NONE;
		stage_open(s);
		reopen_and_check(s);
		assert_int_equal(stage_release(s, "global/after", "alice@1"), 0);
		stage_close(s);
	}
	stage_open(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(after_the_page_that_counts_nothing_goes_on),   TEST(after_a_sync_that_failed_the_log_goes_on),
		TEST(after_a_page_that_failed_the_log_goes_on),     TEST(when_the_log_is_full_changes_are_refused),
		TEST(a_store_that_cannot_be_written_is_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
