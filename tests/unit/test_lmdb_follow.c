/*
 * The log as a process sees it that reads along, beside the one that writes: both on the files, without LMDB.
 */
#include "lmdb_engine.h"
#include "scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define BASE 5
#define MARK 7

struct fixture {
	char *path;
	int dir;
	struct lmdb_log writer;
	struct lmdb_log reader;
	struct layer *layer; /* the reader's */
};

static void writer_start(struct fixture *f)
{
	assert_int_equal(lmdb_log_open(&f->writer, f->dir, false), 0);
	lmdb_log_restart(&f->writer, BASE, MARK);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->path = scratch_new();
	f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->dir >= 0);
	writer_start(f);
	assert_int_equal(lmdb_log_open(&f->reader, f->dir, true), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	layer_drop(f->layer);
	lmdb_log_close(&f->reader);
	lmdb_log_close(&f->writer);
	close(f->dir);
	scratch_remove(f->path);
	free(f);
	return 0;
}

static void entry_write(struct fixture *f, const char *key)
{
	struct txn_write *list[] = { &(struct txn_write){ .key = slice_of(key), .value = slice_of("1") } };

	lmdb_log_begin(&f->writer);
	lmdb_log_add(&f->writer, &(struct writes){ .list = list, .count = 1 });
	assert_true(lmdb_log_fits(&f->writer));
	assert_int_equal(lmdb_log_write(&f->writer, true, true), 0);
}

/* How many keys the reader sees over that transaction. */
static size_t seen(struct fixture *f, uint64_t base, uint64_t mark)
{
	assert_int_equal(lmdb_log_read(&f->reader, base, mark, &f->layer), 0);
	return f->layer->writes.count;
}

static void entries_are_seen_as_they_come(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(seen(f, BASE, MARK), 0);
	entry_write(f, "a");
	assert_int_equal(seen(f, BASE, MARK), 1);
	entry_write(f, "b");
	entry_write(f, "c");
	assert_int_equal(seen(f, BASE, MARK), 3);
}

static void entries_of_another_transaction_are_not_seen(void **state)
{
	struct fixture *f = *state;

	entry_write(f, "a");
	entry_write(f, "b");
	assert_int_equal(seen(f, BASE, MARK + 1), 0);
	assert_int_equal(seen(f, BASE - 1, MARK), 0);
	lmdb_log_restart(&f->writer, BASE + 1, MARK + 1);
	entry_write(f, "c");
	assert_int_equal(seen(f, BASE + 1, MARK + 1), 1);
	assert_int_equal(seen(f, BASE, MARK), 0);
}

/* As the pieces are in which LMDB gets what the log has. */
static void entries_are_seen_over_a_transaction_that_leaves_the_mark(void **state)
{
	struct fixture *f = *state;

	entry_write(f, "a");
	entry_write(f, "b");
	assert_int_equal(seen(f, BASE, MARK), 2);
	assert_int_equal(seen(f, BASE + 1, MARK), 2);
	entry_write(f, "c");
	assert_int_equal(seen(f, BASE + 2, MARK), 3);
}

static void a_log_that_takes_the_place_of_a_removed_one_is_followed(void **state)
{
	struct fixture *f = *state;

	entry_write(f, "a");
	entry_write(f, "b");
	assert_int_equal(seen(f, BASE, MARK), 2);
	assert_int_equal(unlinkat(f->dir, "commit.log", 0), 0);
	assert_int_equal(seen(f, BASE, MARK), 0);
	lmdb_log_close(&f->writer);
	writer_start(f);
	entry_write(f, "c");
	assert_int_equal(seen(f, BASE, MARK), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entries_are_seen_as_they_come),
		TEST(entries_of_another_transaction_are_not_seen),
		TEST(entries_are_seen_over_a_transaction_that_leaves_the_mark),
		TEST(a_log_that_takes_the_place_of_a_removed_one_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
