/*
 * What store_open() refuses, and that it says why: bad URIs, places LMDB cannot live in, damaged files.
 */
#include "scratch.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096

struct fixture {
	char *dir;
	char data[128];
	char why[512];
};

static int fill_fn(struct store_txn *txn, void *arg)
{
	char key[16];

	(void)arg;
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(key, sizeof(key), "key%06d", i);
		assert_int_equal(store_put(txn, slice_of(key), slice_of("some value of a certain length")), 0);
	}
	return 0;
}

/* A store of some pages, closed again. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct store *store;

	assert_non_null(f);
	f->dir = scratch_new();
	(void)snprintf(f->data, sizeof(f->data), "%s/data.mdb", f->dir);
	assert_int_equal(store_open(&store, f->dir, NULL, f->why, sizeof(f->why)), 0);
	assert_int_equal(store_update(store, fill_fn, NULL), 0);
	store_close(store);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->dir);
	free(f);
	return 0;
}

static void assert_refused(struct fixture *f, const char *uri, int err, const char *text)
{
	struct store *store;

	f->why[0] = 0;
	assert_int_equal(store_open(&store, uri, NULL, f->why, sizeof(f->why)), err);
	assert_null(store);
	if (strstr(f->why, text) == NULL)
		fail_msg("'%s' does not say '%s'", f->why, text);
}

static void assert_opens(struct fixture *f, const char *uri)
{
	struct store *store;

	assert_int_equal(store_open(&store, uri, NULL, f->why, sizeof(f->why)), 0);
	store_close(store);
}

static void the_uri_chooses_the_engine(void **state)
{
	struct fixture *f = *state;
	char uri[200];

	assert_refused(f, NULL, -EINVAL, "give a directory");
	assert_refused(f, "", -EINVAL, "give a directory");
	assert_refused(f, "carrier-pigeon:coop", -EINVAL, "no engine is called carrier-pigeon; there is: lmdb");
	(void)snprintf(uri, sizeof(uri), "lmdb:%s", f->dir);
	assert_opens(f, uri);
	assert_opens(f, f->dir);
	(void)snprintf(uri, sizeof(uri), "%s/with:colon", f->dir);
	assert_opens(f, uri);
	assert_int_equal(access(uri, F_OK), 0);
	assert_int_equal(store_open(NULL, f->dir, NULL, NULL, 0), -EINVAL);
}

static void a_place_that_is_no_directory_is_refused(void **state)
{
	struct fixture *f = *state;
	char path[200];

	assert_refused(f, f->data, -ENOTDIR, "a directory is needed");
	(void)snprintf(path, sizeof(path), "%s/below", f->data);
	assert_refused(f, path, -ENOTDIR, "cannot be made");
	assert_refused(f, "/proc/nowhere/store", -ENOENT, "cannot be made");
}

static void a_limit_too_small_to_work_with_is_refused(void **state)
{
	struct fixture *f = *state;
	struct store_options options = { .max_bytes = 4096 };
	struct store *store;

	assert_int_equal(store_open(&store, f->dir, &options, f->why, sizeof(f->why)), -EINVAL);
	assert_non_null(strstr(f->why, "too small"));
}

static void damage(struct fixture *f, off_t from, off_t to, unsigned char byte)
{
	int fd = open(f->data, O_WRONLY | O_CLOEXEC);
	unsigned char bytes[PAGE];

	assert_true(fd >= 0);
	memset(bytes, byte, sizeof(bytes));
	for (off_t at = from; at < to; at += PAGE) {
		size_t len = to - at < PAGE ? (size_t)(to - at) : PAGE;

		assert_int_equal(pwrite(fd, bytes, len, at), len);
	}
	close(fd);
}

static void garbage_is_not_taken_for_a_store(void **state)
{
	struct fixture *f = *state;

	damage(f, 0, (off_t)4 * PAGE, 0xA5);
	assert_refused(f, f->dir, -EUCLEAN, "is damaged");
	damage(f, 0, (off_t)4 * PAGE, 0);
	assert_refused(f, f->dir, -EUCLEAN, "is damaged");
}

static void an_empty_file_is_not_taken_for_a_new_store(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(truncate(f->data, 0), 0);
	assert_refused(f, f->dir, -EUCLEAN, "is empty");
}

static void a_log_without_a_data_file_is_not_taken_for_a_new_store(void **state)
{
	struct fixture *f = *state;
	struct store_options readonly = { .readonly = true };
	struct store *store;
	char away[160];
	char log[160];

	(void)snprintf(away, sizeof(away), "%s.away", f->data);
	(void)snprintf(log, sizeof(log), "%s/commit.log", f->dir);
	assert_int_equal(rename(f->data, away), 0);
	assert_refused(f, f->dir, -EUCLEAN, "commit.log is there and data.mdb is not: put data.mdb back");
	assert_non_null(strstr(f->why, "move commit.log away"));
	assert_int_equal(store_open(&store, f->dir, &readonly, f->why, sizeof(f->why)), -EUCLEAN);
	assert_int_equal(access(f->data, F_OK), -1);

	/* Both ways out of it. */
	assert_int_equal(rename(away, f->data), 0);
	assert_opens(f, f->dir);
	assert_int_equal(unlink(f->data), 0);
	assert_int_equal(unlink(log), 0);
	assert_opens(f, f->dir);
}

static void a_file_cut_short_is_refused_wherever_it_was_cut(void **state)
{
	struct fixture *f = *state;
	const off_t sizes[] = { 20 * PAGE, 5 * PAGE + 1, 2 * PAGE, 2 * PAGE - 1, PAGE, 100, 1 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(truncate(f->data, sizes[i]), 0);
		assert_refused(f, f->dir, -EUCLEAN, "restore it");
	}
}

static void something_else_in_the_data_file_s_place_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlink(f->data), 0);
	assert_int_equal(mkdir(f->data, 0700), 0);
	assert_refused(f, f->dir, -EINVAL, "not a file");
}

static void zeroed_pages_are_an_error_and_no_crash(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(stat(f->data, &st), 0);
	damage(f, (off_t)2 * PAGE, st.st_size, 0);
	assert_refused(f, f->dir, -EUCLEAN, "is another kind of page");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_uri_chooses_the_engine, setup, teardown),
		cmocka_unit_test_setup_teardown(a_place_that_is_no_directory_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_limit_too_small_to_work_with_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(garbage_is_not_taken_for_a_store, setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_file_is_not_taken_for_a_new_store, setup, teardown),
		cmocka_unit_test_setup_teardown(a_log_without_a_data_file_is_not_taken_for_a_new_store, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_file_cut_short_is_refused_wherever_it_was_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(something_else_in_the_data_file_s_place_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(zeroed_pages_are_an_error_and_no_crash, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
