/*
 * When the LMDB engine waits for the disk, and what comes of a disk that fails. Here fdatasync() is the test's own, for
 * LMDB too.
 */
#include "child.h"
#include "store_fixture.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* By file: STORE_DATA, STORE_LOG. */
static ino_t inodes[2];
static _Atomic int synced[2];
static _Atomic bool failing[2];

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's name is reserved. */
int fdatasync(int fd)
{
	struct stat st;

	for (int i = 0; fstat(fd, &st) == 0 && i < 2; i++) {
		if (st.st_ino != inodes[i])
			continue;
		if (failing[i]) {
			errno = EIO;
			return -1;
		}
		synced[i]++;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static void store_start(struct store_fixture *f, enum store_sync sync)
{
	struct stat st;

	f->sync = sync;
	assert_int_equal(store_fixture_open(f, false), 0);
	for (int i = STORE_DATA; i <= STORE_LOG; i++) {
		assert_int_equal(stat(f->path[i], &st), 0);
		inodes[i] = st.st_ino;
	}
	memset(synced, 0, sizeof(synced));
}

static int setup(void **state)
{
	memset(failing, 0, sizeof(failing));
	return store_fixture_setup(state);
}

static int teardown(void **state)
{
	memset(failing, 0, sizeof(failing));
	return store_fixture_teardown(state);
}

static int put_fn(struct store_txn *txn, void *arg)
{
	return store_put(txn, slice_of(arg), slice_of("1"));
}

static int has_fn(struct store_txn *txn, void *arg)
{
	struct slice value;

	return store_get(txn, slice_of(arg), &value) == 0;
}

static int put(struct store_fixture *f, char *key)
{
	return store_update(f->store, put_fn, key);
}

static bool has(struct store_fixture *f, char *key)
{
	return store_view(f->store, has_fn, key) == 1;
}

static void a_commit_waits_for_the_disk_once(void **state)
{
	struct store_fixture *f = *state;

	store_start(f, STORE_SYNC_COMMIT);
	for (int i = 1; i <= 10; i++) {
		assert_int_equal(put(f, "a"), 0);
		assert_int_equal(synced[1], i);
	}
	assert_int_equal(synced[0], 0);
	assert_int_equal(store_flush(f->store), 0);
	assert_true(synced[0] > 0);
}

static void without_sync_no_commit_waits(void **state)
{
	struct store_fixture *f = *state;

	store_start(f, STORE_SYNC_OFF);
	for (int i = 0; i < 10; i++)
		assert_int_equal(put(f, "a"), 0);
	assert_int_equal(synced[0] + synced[1], 0);
}

static void lmdb_waits_for_the_disk_without_sync_too(void **state)
{
	struct store_fixture *f = *state;
	char key[] = "0000";

	store_start(f, STORE_SYNC_OFF);
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(key, sizeof(key), "%04d", i);
		assert_int_equal(put(f, key), 0);
	}
	assert_true(synced[0] > 0);
	assert_int_equal(synced[1], 0);
}

static void child_commits(int tell, void *arg)
{
	struct store_fixture *f = arg;

	(void)tell;
	store_start(f, STORE_SYNC_OFF);
	if (put(f, "a") != 0 || store_flush(f->store) != 0 || put(f, "b") != 0)
		_exit(1);
}

static void what_a_killed_process_left_is_synced_before_it_is_built_upon(void **state)
{
	struct store_fixture *f = *state;

	/* The inodes are known before the child is, which makes nothing anew. */
	store_start(f, STORE_SYNC_COMMIT);
	store_fixture_close(f);
	struct child child = child_start(child_commits, f);
	child_kill(&child);
	child_wait(&child);
	memset(synced, 0, sizeof(synced));
	struct store_options options = { .sync = STORE_SYNC_COMMIT };
	assert_int_equal(store_open(&f->store, f->dir, &options, f->why, sizeof(f->why)), 0);
	assert_true(synced[0] > 0);
	assert_true(synced[1] > 0);
	assert_true(has(f, "a") && has(f, "b"));
}

static void a_commit_whose_sync_failed_has_not_happened(void **state)
{
	struct store_fixture *f = *state;

	store_start(f, STORE_SYNC_COMMIT);
	assert_int_equal(put(f, "before"), 0);
	failing[1] = true;
	assert_int_equal(put(f, "lost"), -EIO);
	assert_true(has(f, "before"));
	assert_false(has(f, "lost"));

	/* Commits go to LMDB now; whether the log works again or not, it is used no more until one of them is done. */
	assert_int_equal(put(f, "after"), 0);
	assert_true(synced[0] > 0);
	failing[1] = false;
	assert_int_equal(put(f, "later"), 0);
	store_fixture_close(f);
	store_start(f, STORE_SYNC_COMMIT);
	assert_true(has(f, "before") && has(f, "after") && has(f, "later"));
	assert_false(has(f, "lost"));
}

static void child_fails(int tell, void *arg)
{
	struct store_fixture *f = arg;

	(void)tell;
	store_start(f, STORE_SYNC_COMMIT);
	if (put(f, "before") != 0)
		_exit(1);
	failing[1] = true;
	if (put(f, "lost") != -EIO)
		_exit(1);
}

static void it_has_not_happened_after_a_crash_either(void **state)
{
	struct store_fixture *f = *state;
	struct child child = child_start(child_fails, f);

	child_kill(&child);
	child_wait(&child);
	store_start(f, STORE_SYNC_COMMIT);
	assert_true(has(f, "before"));
	assert_false(has(f, "lost"));
}

static int put_durable_fn(struct store_txn *txn, void *arg)
{
	store_txn_sync(txn);
	return put_fn(txn, arg);
}

static void child_fails_without_sync(int tell, void *arg)
{
	struct store_fixture *f = arg;

	(void)tell;
	store_start(f, STORE_SYNC_OFF);
	if (put(f, "before") != 0)
		_exit(1);
	failing[0] = failing[1] = true;
	if (store_update(f->store, put_durable_fn, "lost") != -EIO || has(f, "lost"))
		_exit(1);
	failing[0] = failing[1] = false;
	if (put(f, "after") != 0)
		_exit(1);
}

/* One that must be on disk whatever `sync` says. */
static void nor_has_it_without_sync(void **state)
{
	struct store_fixture *f = *state;
	struct child child = child_start(child_fails_without_sync, f);

	child_kill(&child);
	child_wait(&child);
	store_start(f, STORE_SYNC_OFF);
	assert_true(has(f, "before") && has(f, "after"));
	assert_false(has(f, "lost"));
}

static void with_a_failing_disk_nothing_is_committed_or_lost(void **state)
{
	struct store_fixture *f = *state;

	store_start(f, STORE_SYNC_COMMIT);
	assert_int_equal(put(f, "before"), 0);
	failing[0] = failing[1] = true;
	for (int i = 0; i < 5; i++)
		assert_int_equal(put(f, "lost"), -EIO);
	assert_int_equal(store_flush(f->store), -EIO);
	assert_true(has(f, "before"));
	assert_false(has(f, "lost"));
	failing[0] = failing[1] = false;
	assert_int_equal(put(f, "after"), 0);
	store_fixture_close(f);
	store_start(f, STORE_SYNC_COMMIT);
	assert_true(has(f, "before") && has(f, "after"));
	assert_false(has(f, "lost"));
}

static void the_log_goes_on_while_lmdb_cannot_write(void **state)
{
	struct store_fixture *f = *state;

	store_start(f, STORE_SYNC_COMMIT);
	assert_int_equal(put(f, "before"), 0);
	failing[0] = true;
	assert_int_equal(store_flush(f->store), -EIO);
	assert_int_equal(put(f, "after"), 0);
	assert_true(has(f, "before") && has(f, "after"));
	store_fixture_close(f);
	failing[0] = false;
	store_start(f, STORE_SYNC_COMMIT);
	assert_true(has(f, "before") && has(f, "after"));
}

static void commits_that_fail_keep_no_memory(void **state)
{
	struct store_fixture *f = *state;

	store_start(f, STORE_SYNC_COMMIT);
	assert_int_equal(put(f, "before"), 0);
	failing[0] = failing[1] = true;
	assert_int_equal(put(f, "lost"), -EIO);
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < 2000; i++)
		assert_int_equal(put(f, "lost"), -EIO);
	assert_true(mallinfo2().uordblks < before + (size_t)16 * 1024);
	assert_true(has(f, "before"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_commit_waits_for_the_disk_once),
		TEST(without_sync_no_commit_waits),
		TEST(lmdb_waits_for_the_disk_without_sync_too),
		TEST(what_a_killed_process_left_is_synced_before_it_is_built_upon),
		TEST(a_commit_whose_sync_failed_has_not_happened),
		TEST(it_has_not_happened_after_a_crash_either),
		TEST(nor_has_it_without_sync),
		TEST(with_a_failing_disk_nothing_is_committed_or_lost),
		TEST(the_log_goes_on_while_lmdb_cannot_write),
		TEST(commits_that_fail_keep_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
