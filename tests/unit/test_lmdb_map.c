/*
 * Without sync, the log is written through a map: no commit calls the kernel for it, nothing that was written is lost with the
 * process, and what must be on disk is. Where there can be no map, calls do the same. Here fstatvfs() is the test's own.
 */
#include "child.h"
#include "lmdb_log.h"
#include "numbered.h"
#include "scratch.h"

#include <errno.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COMMITS 100

struct fixture {
	char *dir;
	char why[512];
	struct store *store;
};

static bool readonly; /* what the file system has become */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's names are reserved. */
int fstatvfs(int fd, struct statvfs *out)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -1;
	memset(out, 0, sizeof(*out));
	out->f_bavail = fs.f_bavail;
	out->f_frsize = (unsigned long)fs.f_bsize;
	out->f_flag = readonly ? ST_RDONLY : 0;
	return 0;
}

static int store_start(struct fixture *f)
{
	struct store_options options = { .sync = STORE_SYNC_OFF };

	f->store = NULL;
	return store_open(&f->store, f->dir, &options, f->why, sizeof(f->why));
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->dir = scratch_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	readonly = false;
	lmdb_log_maps = true;
	store_close(f->store);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

/* Whether this process has a map of a log that it can write to. */
static bool log_is_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps) != NULL)
		found = strstr(line, "/commit.log") != NULL && strstr(line, " rw-s ") != NULL;
	(void)fclose(maps);
	return found;
}

/* How often this process has asked the kernel to write. */
static unsigned long long calls(void)
{
	FILE *io = fopen("/proc/self/io", "re");
	unsigned long long count = 0;
	char line[128];

	assert_non_null(io);
	while (fgets(line, sizeof(line), io) != NULL) {
		if (strncmp(line, "syscw: ", 7) == 0)
			count = strtoull(line + 7, NULL, 10);
	}
	(void)fclose(io);
	return count;
}

static bool can_be_mapped(const struct fixture *f)
{
	struct statfs fs;

	assert_int_equal(statfs(f->dir, &fs), 0);
	return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC;
}

static unsigned long long commit_all(struct fixture *f)
{
	unsigned long long before = calls();

	for (unsigned int n = 1; n <= COMMITS; n++) {
		if (numbered_put(f->store, n, 0) != 0)
			return 0;
	}
	return calls() - before;
}

static void a_commit_without_sync_calls_nobody(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_start(f), 0);
	assert_int_equal(commit_all(f), can_be_mapped(f) ? 0 : COMMITS);
	assert_int_equal(log_is_mapped(), can_be_mapped(f));
	assert_int_equal(numbered_state(f->store), COMMITS);
	store_close(f->store);
	assert_false(log_is_mapped());
	assert_int_equal(store_start(f), 0);
	assert_int_equal(numbered_state(f->store), COMMITS);
}

static void without_a_map_it_does(void **state)
{
	struct fixture *f = *state;

	lmdb_log_maps = false;
	assert_int_equal(store_start(f), 0);
	assert_int_equal(commit_all(f), COMMITS);
	assert_false(log_is_mapped());
	assert_int_equal(numbered_state(f->store), COMMITS);
}

static void child_commits(int tell, void *arg)
{
	(void)tell;
	if (store_start(arg) != 0)
		_exit(1);
	(void)commit_all(arg);
}

static void a_killed_process_leaves_all_its_commits(void **state)
{
	struct fixture *f = *state;
	struct child child = child_start(child_commits, f);

	child_kill(&child);
	child_wait(&child);
	assert_int_equal(store_start(f), 0);
	assert_int_equal(numbered_state(f->store), COMMITS);
}

static void another_process_sees_them(void **state)
{
	struct fixture *f = *state;
	struct child child = child_start(child_commits, f);
	struct store_options options = { .readonly = true };

	assert_int_equal(store_open(&f->store, f->dir, &options, f->why, sizeof(f->why)), 0);
	assert_int_equal(numbered_state(f->store), COMMITS);
	child_kill(&child);
	child_wait(&child);
}

/* A map takes what no disk ever gets. That is noticed within a moment, as when the files are removed. */
static void a_file_system_that_becomes_readonly_is_noticed(void **state)
{
	struct fixture *f = *state;
	unsigned int n = 1;
	int rc = 0;

	if (!can_be_mapped(f))
		return;
	assert_int_equal(store_start(f), 0);
	assert_int_equal(numbered_put(f->store, n++, 0), 0);
	readonly = true;
	for (time_t until = time(NULL) + 10; rc == 0 && time(NULL) < until;)
		rc = numbered_put(f->store, n++, 0);
	assert_int_equal(rc, -EIO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_commit_without_sync_calls_nobody),
		TEST(without_a_map_it_does),
		TEST(a_killed_process_leaves_all_its_commits),
		TEST(another_process_sees_them),
		TEST(a_file_system_that_becomes_readonly_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
