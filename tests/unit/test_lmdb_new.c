/*
 * A store that is begun and not finished: whatever a process had done when it was killed, the next one begins it, and nothing
 * is refused. The calls that change something on disk are the test's own, for LMDB too.
 */
#include "scratch.h"
#include "store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned int last; /* this call is the last one, and not done; 0: there is none */
static unsigned int calls;
static char done[256]; /* what was, in order: a letter for each */

static void step(const char *what)
{
	if (++calls == last)
		_exit(0);
	if (calls < sizeof(done))
		done[calls - 1] = *what;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the headers' names are reserved. */
int fdatasync(int fd)
{
	step("s");
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	struct stat st;

	step(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? "d" : "f");
	return (int)syscall(SYS_fsync, fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	step("w");
	return syscall(SYS_pwrite64, fd, bytes, len, at);
}

int renameat(int from, const char *old, int to, const char *new)
{
	step(strcmp(new, "data.mdb") == 0 ? "D" : strcmp(new, "commit.log") == 0 ? "L" : "?");
	return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int fallocate(int fd, int mode, off_t from, off_t len)
{
	step("a");
	return (int)syscall(SYS_fallocate, fd, mode, from, len);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static int put_fn(struct store_txn *txn, void *arg)
{
	return store_put(txn, slice_of(arg), slice_of("1"));
}

static int has_fn(struct store_txn *txn, void *arg)
{
	struct slice value;

	return store_get(txn, slice_of(arg), &value) == 0;
}

/* Begins a store and ends at a call. True if it came that far. */
static bool begin_and_end(const char *dir, unsigned int at)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct store *store;
		char why[512];

		calls = 0;
		last = at;
		if (store_open(&store, dir, NULL, why, sizeof(why)) != 0 ||
		    store_update(store, put_fn, (char[]){ "a" }) != 0)
			_exit(1);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
	return WEXITSTATUS(status) == 0;
}

static void a_store_is_begun_wherever_the_last_try_ended(void **state)
{
	char *scratch = scratch_new();
	unsigned int at = 1;
	bool ended = true;

	(void)state;
	for (; ended; at++) {
		struct store *store;
		char dir[128];
		char why[512];

		(void)snprintf(dir, sizeof(dir), "%s/%u", scratch, at);
		ended = begin_and_end(dir, at);
		if (store_open(&store, dir, NULL, why, sizeof(why)) != 0)
			fail_msg("ended at call %u: %s", at, why);
		assert_true(ended || store_view(store, has_fn, (char[]){ "a" }) == 1);
		assert_int_equal(store_update(store, put_fn, (char[]){ "b" }), 0);
		store_close(store);
		assert_int_equal(store_open(&store, dir, NULL, why, sizeof(why)), 0);
		assert_int_equal(store_view(store, has_fn, (char[]){ "b" }), 1);
		store_close(store);
	}
	assert_true(at > 10);
	scratch_remove(scratch);
}

/* So that no power cut leaves a file under its name that is not whole, or the log alone. */
static void each_file_is_on_disk_before_it_has_its_name(void **state)
{
	char *scratch = scratch_new();
	struct store *store;
	char dir[128];
	char why[512];

	(void)state;
	(void)snprintf(dir, sizeof(dir), "%s/store", scratch);
	calls = 0;
	memset(done, 0, sizeof(done));
	assert_int_equal(store_open(&store, dir, NULL, why, sizeof(why)), 0);
	store_close(store);
	/* data.mdb: written, synced, named, and that on disk; then the log, in sixteen writes. */
	if (strncmp(done, "wsDdwwwwwwwwwwwwwwwwfLd", 23) != 0)
		fail_msg("%s", done);
	scratch_remove(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_is_begun_wherever_the_last_try_ended),
		cmocka_unit_test(each_file_is_on_disk_before_it_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
