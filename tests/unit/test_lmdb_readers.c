/*
 * Those who read an older state keep LMDB from using pages again. On a full store that must not be what a removal fails for:
 * neither a view of this process, nor another process that reads along, nor one that died over it.
 */
#include "child.h"
#include "space_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 50    /* removals that go through while somebody reads, in a store of 2 MiB */
#define BLOCKED 20 /* looks at a thread in a row that find it asleep over the same removal */

/* fdatasync() is the test's own, for LMDB too: a child ends at one of those of data.mdb. */
static ino_t data;
static _Atomic int syncs;
static int last_sync; /* 0: it does not end */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's name is reserved. */
int fdatasync(int fd)
{
	struct stat st;

	if (data != 0 && fstat(fd, &st) == 0 && st.st_ino == data && ++syncs == last_sync)
		_exit(0);
	return (int)syscall(SYS_fdatasync, fd);
}

/* A thread that reads one state until it is told to stop, or until it is what the removals wait for. */
struct reader {
	struct space_fixture *fixture;
	pthread_t thread;
	pid_t remover; /* the thread that removes */
	_Atomic unsigned int removed;
	_Atomic bool stop;
	sem_t reads;
	unsigned int views;
	unsigned int first; /* removals during the first view */
};

static bool is_asleep(pid_t thread)
{
	char path[64];
	char line[512] = "";

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return false;
	bool read = fgets(line, sizeof(line), file) != NULL;
	(void)fclose(file);
	const char *end = strrchr(line, ')');
	return read && end != NULL && end[1] == ' ' && end[2] == 'S';
}

static int read_fn(struct store_txn *txn, void *arg)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000000 };
	struct reader *reader = arg;
	struct slice value;
	unsigned int began = reader->removed;
	int blocked = 0;

	(void)store_get(txn, slice_of("x"), &value);
	sem_post(&reader->reads);
	while (!reader->stop && blocked < BLOCKED) {
		unsigned int before = reader->removed;

		nanosleep(&pause, NULL);
		blocked = is_asleep(reader->remover) && reader->removed == before ? blocked + 1 : 0;
	}
	if (reader->views++ == 0)
		reader->first = reader->removed - began;
	return 0;
}

static void *reader_main(void *arg)
{
	struct reader *reader = arg;

	while (!reader->stop)
		assert_int_equal(store_view(reader->fixture->store, read_fn, reader), 0);
	return NULL;
}

static void reader_start(struct reader *reader, struct space_fixture *f)
{
	*reader = (struct reader){ .fixture = f, .remover = (pid_t)syscall(SYS_gettid) };
	assert_int_equal(sem_init(&reader->reads, 0, 0), 0);
	assert_int_equal(pthread_create(&reader->thread, NULL, reader_main, reader), 0);
	while (sem_wait(&reader->reads) != 0)
		;
}

static void reader_stop(struct reader *reader)
{
	reader->stop = true;
	assert_int_equal(pthread_join(reader->thread, NULL), 0);
	sem_destroy(&reader->reads);
}

/* Removes everything while views go on all the time. */
static void drain_beside_views(struct space_fixture *f, unsigned int n)
{
	struct reader reader;

	reader_start(&reader, f);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(space_remove(f, i), 0);
		reader.removed++;
	}
	reader_stop(&reader);
	assert_true(reader.first > MANY);
	assert_int_equal(store_flush(f->store), 0);
	for (unsigned int i = 0; i < n; i++)
		assert_false(space_has(f, i));
	assert_false(space_is_low(f));
}

static void removals_go_through_beside_views_at_the_limit(void **state)
{
	struct space_fixture *f = *state;

	space_open(f, 2 * MIB);
	drain_beside_views(f, space_fill(f, 0));
}

static void removals_go_through_beside_views_on_a_full_disk(void **state)
{
	struct space_fixture *f = *state;

	space_disk(f, "size=7m");
	space_open(f, 0);
	space_disk_fill(f);
	drain_beside_views(f, space_fill(f, 0));
}

/* Another process that reads one state until it is killed. */
static int stay_fn(struct store_txn *txn, void *arg)
{
	struct slice value;

	(void)store_get(txn, slice_of("x"), &value);
	sem_post(arg);
	for (;;)
		pause();
	return 0;
}

struct outside {
	struct store *store;
	sem_t reads;
};

static void *outside_main(void *arg)
{
	struct outside *outside = arg;

	(void)store_view(outside->store, stay_fn, &outside->reads);
	_exit(1);
}

static void child_reads(int tell, void *arg)
{
	static struct outside outside;
	struct store_options readonly = { .readonly = true };
	const struct space_fixture *f = arg;
	pthread_t thread;

	(void)tell;
	if (store_open(&outside.store, f->dir, &readonly, NULL, 0) != 0 || sem_init(&outside.reads, 0, 0) != 0 ||
	    pthread_create(&thread, NULL, outside_main, &outside) != 0)
		_exit(1);
	while (sem_wait(&outside.reads) != 0)
		;
}

static void removals_go_on_beside_another_process_and_after_its_death(void **state)
{
	struct space_fixture *f = *state;

	space_open(f, 2 * MIB);
	unsigned int n = space_fill(f, 0);
	struct child child = child_start(child_reads, f);
	space_drain(f, 0, MANY);
	assert_true(space_is_low(f));
	child_kill(&child);
	child_wait(&child);
	space_drain(f, MANY, n);
	assert_false(space_is_low(f));
}

static void a_reader_that_does_not_end_is_a_clear_error_and_nothing_is_lost(void **state)
{
	struct space_fixture *f = *state;
	unsigned int i = 0;

	space_open(f, 2 * MIB);
	unsigned int n = space_fill(f, 0);
	struct child child = child_start(child_reads, f);
	while (i < n && space_remove(f, i) == 0)
		i++;
	assert_in_range(i, MANY, n - 1);
	assert_int_equal(space_remove(f, i), -ENOSPC);
	assert_true(space_has(f, i));
	assert_false(space_has(f, i - 1));
	child_kill(&child);
	child_wait(&child);
	space_drain(f, i, n);
	assert_false(space_is_low(f));
}

/* Removes until the log is full of what LMDB has no pages for, then once more when it has. Writes down each removal. */
static void child_removes(int tell, void *arg)
{
	struct space_fixture *f = arg;
	struct reader reader;
	struct stat st;
	char path[160];

	space_open(f, 2 * MIB);
	unsigned int n = space_fill(f, 0);
	(void)snprintf(path, sizeof(path), "%s/data.mdb", f->dir);
	if (stat(path, &st) != 0)
		_exit(1);
	reader_start(&reader, f);
	for (unsigned int i = 0; i < n; i++) {
		/* By now nothing but the log is written to until the view ends. */
		data = i == MANY ? st.st_ino : data;
		if (space_remove(f, i) != 0 || write(tell, &n, sizeof(n)) != (ssize_t)sizeof(n))
			_exit(1);
		reader.removed++;
	}
	_exit(2);
}

/* What a child did before it ended by itself at a sync: how many keys there were, and how many removals it wrote down. */
static unsigned int child_read(int told, unsigned int *n)
{
	unsigned int count = 0;

	while (read(told, n, sizeof(*n)) == (ssize_t)sizeof(*n))
		count++;
	return count;
}

static void what_was_answered_is_there_after_a_crash_between_pieces(void **state)
{
	struct space_fixture *f = *state;

	for (int at = 1; at <= 12; at += at < 4 ? 1 : 4) {
		unsigned int n = 0;
		int told[2];
		int status;
		char dir[128];

		(void)snprintf(dir, sizeof(dir), "%s/%d", f->scratch, at);
		(void)snprintf(f->dir, sizeof(f->dir), "%s", dir);
		assert_int_equal(pipe(told), 0);
		last_sync = at;
		pid_t pid = fork();
		if (pid == 0) {
			close(told[0]);
			child_removes(told[1], f);
		}
		close(told[1]);
		unsigned int removed = child_read(told[0], &n);
		close(told[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		last_sync = 0;
		assert_true(removed > MANY && removed < n);
		space_open(f, 2 * MIB);
		for (unsigned int i = 0; i < n; i++)
			assert_true(i == removed || space_has(f, i) == (i > removed));
		space_drain(f, removed + !space_has(f, removed), n);
		assert_false(space_is_low(f));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, space_setup, space_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(removals_go_through_beside_views_at_the_limit),
		TEST(removals_go_through_beside_views_on_a_full_disk),
		TEST(removals_go_on_beside_another_process_and_after_its_death),
		TEST(a_reader_that_does_not_end_is_a_clear_error_and_nothing_is_lost),
		TEST(what_was_answered_is_there_after_a_crash_between_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
