/*
 * Room: adding is refused in time, and removing never is, whether a limit or the disk is what ends.
 */
#include "child.h"
#include "room_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void removals_go_through_at_the_limit(void **state)
{
	struct room_fixture *f = *state;
	struct store_room room;

	room_open(f, 2 * MIB);
	store_room(f->store, &room);
	assert_in_range(room.free, MIB, 2 * MIB);
	unsigned int n = room_fill(f, 0);
	assert_true(n > 2000);
	room_drain(f, 0, n);
	assert_false(room_is_low(f));
	assert_true(room_fill(f, n) > n + 1000);
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
	struct room_fixture *f = *state;

	room_open(f, 1 * MIB);
	(void)room_fill(f, 0);
	assert_int_equal(store_update(f->store, remove_all_fn, NULL), 0);
	assert_false(room_is_low(f));
}

static void the_limit_holds_however_often_it_is_opened(void **state)
{
	struct room_fixture *f = *state;
	struct store_room room;
	unsigned int n = 0;

	for (int i = 0; i < 5; i++) {
		room_open(f, 1 * MIB);
		n = room_fill(f, n);
		room_drain(f, n - 50, n);
		n -= 50;
	}
	store_room(f->store, &room);
	assert_true(room.used <= 1 * MIB);
	room_open(f, 512 * KIB);
	assert_true(room_is_low(f));
	room_drain(f, 0, n);
	room_open(f, 0);
	assert_false(room_is_low(f));
}

static void removals_go_through_on_a_full_disk(void **state)
{
	struct room_fixture *f = *state;
	struct timespec pause = { .tv_nsec = 10 * 1000000 };

	room_disk(f, "size=32m");
	room_open(f, 0);
	room_disk_fill(f);
	unsigned int n = room_fill(f, 0);
	assert_true(n > 1000);
	room_drain(f, 0, n);
	assert_false(room_is_low(f));
	(void)room_fill(f, n);

	/* Room that others give back is noticed, though no commit comes along. */
	assert_int_equal(unlink(f->junk), 0);
	for (int i = 0; i < 500 && room_is_low(f); i++)
		nanosleep(&pause, NULL);
	assert_false(room_is_low(f));
}

static void a_store_on_a_full_disk_opens_and_removes(void **state)
{
	struct room_fixture *f = *state;
	unsigned int n;

	room_disk(f, "size=32m");
	room_open(f, 0);
	room_disk_fill(f);
	n = room_fill(f, 0);
	store_close(f->store);
	f->store = NULL;
	room_disk_fill(f);
	room_open(f, 0);
	assert_true(room_is_low(f));
	room_drain(f, 0, n);
	assert_false(room_is_low(f));
}

/* As a lock with the longest text. */
static int text_fn(struct store_txn *txn, void *arg)
{
	static const char text[16 * 1024] = "x";
	char key[ROOM_KEY];

	room_key(*(unsigned int *)arg, key);
	return store_put(txn, slice_of(key), (struct slice){ .data = text, .len = sizeof(text) });
}

static int text_drop_fn(struct store_txn *txn, void *arg)
{
	char key[ROOM_KEY];

	room_key(*(unsigned int *)arg, key);
	return store_del(txn, slice_of(key));
}

static void texts_drop(struct room_fixture *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(store_update(f->store, text_drop_fn, &i), 0);
	assert_int_equal(store_settle(f->store), 0);
}

static void long_texts_in_the_log_do_not_use_up_the_reserve(void **state)
{
	struct room_fixture *f = *state;
	unsigned int n = 0;

	room_open(f, 512 * KIB);
	for (; !room_is_low(f) && n < 100; n++)
		assert_int_equal(store_update(f->store, text_fn, &n), 0);
	assert_true(room_is_low(f));
	assert_int_equal(store_settle(f->store), 0);
	texts_drop(f, n);
}

#define TEXTS 28 /* that the log has room for, and a small store has not */

static void child_adds_texts(int tell, void *arg)
{
	struct room_fixture *f = arg;

	(void)tell;
	room_open(f, 0);
	for (unsigned int i = 0; i < TEXTS; i++) {
		if (store_update(f->store, text_fn, &i) != 0)
			_exit(1);
	}
}

static void what_a_crash_left_in_the_log_goes_into_a_smaller_limit(void **state)
{
	struct room_fixture *f = *state;
	struct child child = child_start(child_adds_texts, f);

	child_kill(&child);
	child_wait(&child);
	room_open(f, 512 * KIB);
	assert_true(room_is_low(f));
	assert_int_equal(store_settle(f->store), 0);
	texts_drop(f, TEXTS);
	assert_false(room_is_low(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(removals_go_through_at_the_limit, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(one_removal_of_everything_goes_through_too, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(the_limit_holds_however_often_it_is_opened, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(removals_go_through_on_a_full_disk, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(a_store_on_a_full_disk_opens_and_removes, room_setup, room_teardown),
		cmocka_unit_test_setup_teardown(long_texts_in_the_log_do_not_use_up_the_reserve, room_setup,
						room_teardown),
		cmocka_unit_test_setup_teardown(what_a_crash_left_in_the_log_goes_into_a_smaller_limit, room_setup,
						room_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
