/*
 * Room: adding is refused in time, and removing never is, whether a limit or the disk is what ends.
 */
#include "child.h"
#include "scratch.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)

struct fixture {
	char *scratch;
	char dir[128];
	char junk[128];
	struct store *store;
	bool mounted;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->scratch = scratch_new();
	(void)snprintf(f->dir, sizeof(f->dir), "%s/disk/store", f->scratch);
	(void)snprintf(f->junk, sizeof(f->junk), "%s/disk/junk", f->scratch);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char disk[128];

	store_close(f->store);
	(void)snprintf(disk, sizeof(disk), "%s/disk", f->scratch);
	if (f->mounted && umount2(disk, MNT_DETACH) < 0)
		perror(disk);
	scratch_remove(f->scratch);
	free(f);
	return 0;
}

static void open_limited(struct fixture *f, uint64_t max_bytes)
{
	struct store_options options = { .sync = STORE_SYNC_OFF, .max_bytes = max_bytes };
	char why[512];

	store_close(f->store);
	if (store_open(&f->store, f->dir, &options, why, sizeof(why)) != 0)
		fail_msg("%s", why);
}

static bool is_low(struct fixture *f)
{
	struct store_room room;

	store_room(f->store, &room);
	assert_int_equal(room.free == 0, room.low);
	return room.low;
}

/* Keys that come in no order, like those of locks. */
static void key_print(unsigned int i, char key[16])
{
	(void)snprintf(key, 16, "%08x", i * 2654435761U);
}

static int event_add(struct store_txn *txn, const char *what, unsigned int i)
{
	char key[24];

	(void)snprintf(key, sizeof(key), "event/%s/%08x", what, i);
	return store_put(txn, slice_of(key), slice_of("a line of a hundred bytes or so, as a log of events has it"));
}

static int event_drop(struct store_txn *txn)
{
	struct slice key;
	int rc = store_next(txn, slice_of("event/"), slice_of("event/"), &key, NULL);

	return rc == 0 ? store_del(txn, key) : rc;
}

/* As a lock is acquired: a record, and a line about it. */
static int add_fn(struct store_txn *txn, void *arg)
{
	static const char value[300] = "x";
	unsigned int i = *(unsigned int *)arg;
	char key[16];

	key_print(i, key);
	int rc = event_add(txn, "a", i);
	return rc < 0 ? rc : store_put(txn, slice_of(key), (struct slice){ .data = value, .len = sizeof(value) });
}

/* As one is released while room is low: the record goes, and the new line makes the two oldest go. */
static int remove_fn(struct store_txn *txn, void *arg)
{
	unsigned int i = *(unsigned int *)arg;
	char key[16];

	key_print(i, key);
	if (event_add(txn, "r", i) < 0 || event_drop(txn) < 0 || event_drop(txn) < 0)
		return -EIO;
	return store_del(txn, slice_of(key));
}

static unsigned int fill(struct fixture *f, unsigned int from)
{
	unsigned int i = from;

	for (; !is_low(f); i++) {
		assert_true(i < 100000);
		assert_int_equal(store_update(f->store, add_fn, &i), 0);
	}
	return i;
}

static void drain(struct fixture *f, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		assert_int_equal(store_update(f->store, remove_fn, &i), 0);
}

static void removals_go_through_at_the_limit(void **state)
{
	struct fixture *f = *state;
	struct store_room room;

	open_limited(f, 2 * MIB);
	store_room(f->store, &room);
	assert_in_range(room.free, MIB, 2 * MIB);
	unsigned int n = fill(f, 0);
	assert_true(n > 2000);
	drain(f, 0, n);
	assert_false(is_low(f));
	assert_true(fill(f, n) > n + 1000);
	store_room(f->store, &room);
	assert_true(room.used <= 2 * MIB);
}

static int remove_all_fn(struct store_txn *txn, void *arg)
{
	struct slice key;
	struct slice none = { .len = 0 };

	(void)arg;
	while (store_next(txn, none, none, &key, NULL) == 0) {
		int rc = store_del(txn, key);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static void one_removal_of_everything_goes_through_too(void **state)
{
	struct fixture *f = *state;

	open_limited(f, 1 * MIB);
	(void)fill(f, 0);
	assert_int_equal(store_update(f->store, remove_all_fn, NULL), 0);
	assert_false(is_low(f));
}

static void the_limit_holds_however_often_it_is_opened(void **state)
{
	struct fixture *f = *state;
	struct store_room room;
	unsigned int n = 0;

	for (int i = 0; i < 5; i++) {
		open_limited(f, 1 * MIB);
		n = fill(f, n);
		drain(f, n - 50, n);
		n -= 50;
	}
	store_room(f->store, &room);
	assert_true(room.used <= 1 * MIB);
	open_limited(f, 512 * KIB);
	assert_true(is_low(f));
	drain(f, 0, n);
	open_limited(f, 0);
	assert_false(is_low(f));
}

static void disk_mount(struct fixture *f, const char *size)
{
	char disk[128];

	(void)snprintf(disk, sizeof(disk), "%s/disk", f->scratch);
	assert_int_equal(mkdir(disk, 0700), 0);
	if (mount("tmpfs", disk, "tmpfs", 0, size) < 0)
		skip();
	f->mounted = true;
}

static void disk_fill(struct fixture *f)
{
	static const char zeros[4096];
	int fd = open(f->junk, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void removals_go_through_on_a_full_disk(void **state)
{
	struct fixture *f = *state;
	struct timespec pause = { .tv_nsec = 10 * 1000000 };

	disk_mount(f, "size=16m");
	open_limited(f, 0);
	disk_fill(f);
	unsigned int n = fill(f, 0);
	assert_true(n > 1000);
	drain(f, 0, n);
	assert_false(is_low(f));
	(void)fill(f, n);

	/* Room that others give back is noticed, though no commit comes along. */
	assert_int_equal(unlink(f->junk), 0);
	for (int i = 0; i < 500 && is_low(f); i++)
		nanosleep(&pause, NULL);
	assert_false(is_low(f));
}

static void a_store_on_a_full_disk_opens_and_removes(void **state)
{
	struct fixture *f = *state;
	unsigned int n;

	disk_mount(f, "size=16m");
	open_limited(f, 0);
	disk_fill(f);
	n = fill(f, 0);
	store_close(f->store);
	f->store = NULL;
	disk_fill(f);
	open_limited(f, 0);
	assert_true(is_low(f));
	drain(f, 0, n);
	assert_false(is_low(f));
}

/* As a lock with the longest text. */
static int text_fn(struct store_txn *txn, void *arg)
{
	static const char text[16 * 1024] = "x";
	char key[16];

	key_print(*(unsigned int *)arg, key);
	return store_put(txn, slice_of(key), (struct slice){ .data = text, .len = sizeof(text) });
}

static int text_drop_fn(struct store_txn *txn, void *arg)
{
	char key[16];

	key_print(*(unsigned int *)arg, key);
	return store_del(txn, slice_of(key));
}

static void texts_drop(struct fixture *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(store_update(f->store, text_drop_fn, &i), 0);
	assert_int_equal(store_settle(f->store), 0);
}

static void long_texts_in_the_log_do_not_use_up_the_reserve(void **state)
{
	struct fixture *f = *state;
	unsigned int n = 0;

	open_limited(f, 512 * KIB);
	for (; !is_low(f) && n < 100; n++)
		assert_int_equal(store_update(f->store, text_fn, &n), 0);
	assert_true(is_low(f));
	assert_int_equal(store_settle(f->store), 0);
	texts_drop(f, n);
}

#define TEXTS 28 /* that the log has room for, and a small store has not */

static void child_adds_texts(int tell, void *arg)
{
	struct fixture *f = arg;

	(void)tell;
	open_limited(f, 0);
	for (unsigned int i = 0; i < TEXTS; i++) {
		if (store_update(f->store, text_fn, &i) != 0)
			_exit(1);
	}
}

static void what_a_crash_left_in_the_log_goes_into_a_smaller_limit(void **state)
{
	struct fixture *f = *state;
	struct child child = child_start(child_adds_texts, f);

	child_kill(&child);
	child_wait(&child);
	open_limited(f, 512 * KIB);
	assert_true(is_low(f));
	assert_int_equal(store_settle(f->store), 0);
	texts_drop(f, TEXTS);
	assert_false(is_low(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(removals_go_through_at_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(one_removal_of_everything_goes_through_too, setup, teardown),
		cmocka_unit_test_setup_teardown(the_limit_holds_however_often_it_is_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(removals_go_through_on_a_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_on_a_full_disk_opens_and_removes, setup, teardown),
		cmocka_unit_test_setup_teardown(long_texts_in_the_log_do_not_use_up_the_reserve, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_crash_left_in_the_log_goes_into_a_smaller_limit, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
