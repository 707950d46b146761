/*
 * Space: adding is refused in time, and removing never is, whether a limit or the disk is what ends.
 */
#include "child.h"
#include "space_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void removals_go_through_at_the_limit(void **state)
{
	struct space_fixture *f = *state;
	struct store_space space;

	space_open(f, 2 * MIB);
	store_space(f->store, &space);
	assert_in_range(space.free, MIB, 2 * MIB);
	unsigned int n = space_fill(f, 0);
	assert_true(n > 2000);
	space_drain(f, 0, n);
	assert_false(space_is_low(f));
	assert_true(space_fill(f, n) > n + 1000);
	store_space(f->store, &space);
	assert_true(space.used <= 2 * MIB);
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
	struct space_fixture *f = *state;

	space_open(f, 1 * MIB);
	(void)space_fill(f, 0);
	assert_int_equal(store_update(f->store, remove_all_fn, NULL), 0);
	assert_false(space_is_low(f));
}

static void the_limit_holds_however_often_it_is_opened(void **state)
{
	struct space_fixture *f = *state;
	struct store_space space;
	unsigned int n = 0;

	for (int i = 0; i < 5; i++) {
		space_open(f, 1 * MIB);
		n = space_fill(f, n);
		space_drain(f, n - 50, n);
		n -= 50;
	}
	store_space(f->store, &space);
	assert_true(space.used <= 1 * MIB);
	space_open(f, 512 * KIB);
	assert_true(space_is_low(f));
	space_drain(f, 0, n);
	space_open(f, 0);
	assert_false(space_is_low(f));
}

static void removals_go_through_on_a_full_disk(void **state)
{
	struct space_fixture *f = *state;
	struct timespec pause = { .tv_nsec = 10 * 1000000 };

	space_disk(f, "size=16m");
	space_open(f, 0);
	space_disk_fill(f);
	unsigned int n = space_fill(f, 0);
	assert_true(n > 1000);
	space_drain(f, 0, n);
	assert_false(space_is_low(f));
	(void)space_fill(f, n);

	/* Space that others give back is noticed, though no commit comes along. */
	assert_int_equal(unlink(f->junk), 0);
	for (int i = 0; i < 500 && space_is_low(f); i++)
		nanosleep(&pause, NULL);
	assert_false(space_is_low(f));
}

static void a_store_on_a_full_disk_opens_and_removes(void **state)
{
	struct space_fixture *f = *state;
	unsigned int n;

	space_disk(f, "size=16m");
	space_open(f, 0);
	space_disk_fill(f);
	n = space_fill(f, 0);
	store_close(f->store);
	f->store = NULL;
	space_disk_fill(f);
	space_open(f, 0);
	assert_true(space_is_low(f));
	space_drain(f, 0, n);
	assert_false(space_is_low(f));
}

/* As a lock with the longest text. */
static int text_fn(struct store_txn *txn, void *arg)
{
	static const char text[16 * 1024] = "x";
	char key[SPACE_KEY];

	space_key(*(unsigned int *)arg, key);
	return store_put(txn, slice_of(key), (struct slice){ .data = text, .len = sizeof(text) });
}

static int text_drop_fn(struct store_txn *txn, void *arg)
{
	char key[SPACE_KEY];

	space_key(*(unsigned int *)arg, key);
	return store_del(txn, slice_of(key));
}

static void texts_drop(struct space_fixture *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(store_update(f->store, text_drop_fn, &i), 0);
	assert_int_equal(store_flush(f->store), 0);
}

static void long_texts_in_the_log_do_not_use_up_the_reserve(void **state)
{
	struct space_fixture *f = *state;
	unsigned int n = 0;

	space_open(f, 512 * KIB);
	for (; !space_is_low(f) && n < 100; n++)
		assert_int_equal(store_update(f->store, text_fn, &n), 0);
	assert_true(space_is_low(f));
	assert_int_equal(store_flush(f->store), 0);
	texts_drop(f, n);
}

#define TEXTS 28 /* that the log has space for, and a small store has not */

static void child_adds_texts(int tell, void *arg)
{
	struct space_fixture *f = arg;

	(void)tell;
	space_open(f, 0);
	for (unsigned int i = 0; i < TEXTS; i++) {
		if (store_update(f->store, text_fn, &i) != 0)
			_exit(1);
	}
}

static void what_a_crash_left_in_the_log_goes_into_a_smaller_limit(void **state)
{
	struct space_fixture *f = *state;
	struct child child = child_start(child_adds_texts, f);

	child_kill(&child);
	child_wait(&child);
	space_open(f, 512 * KIB);
	assert_true(space_is_low(f));
	assert_int_equal(store_flush(f->store), 0);
	texts_drop(f, TEXTS);
	assert_false(space_is_low(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(removals_go_through_at_the_limit, space_setup, space_teardown),
		cmocka_unit_test_setup_teardown(one_removal_of_everything_goes_through_too, space_setup,
						space_teardown),
		cmocka_unit_test_setup_teardown(the_limit_holds_however_often_it_is_opened, space_setup,
						space_teardown),
		cmocka_unit_test_setup_teardown(removals_go_through_on_a_full_disk, space_setup, space_teardown),
		cmocka_unit_test_setup_teardown(a_store_on_a_full_disk_opens_and_removes, space_setup, space_teardown),
		cmocka_unit_test_setup_teardown(long_texts_in_the_log_do_not_use_up_the_reserve, space_setup,
						space_teardown),
		cmocka_unit_test_setup_teardown(what_a_crash_left_in_the_log_goes_into_a_smaller_limit, space_setup,
						space_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
