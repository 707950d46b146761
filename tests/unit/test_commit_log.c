/*
 * The log as a process sees it that reads along, beside the one that writes: both on the files, without LMDB.
 */
#include "commit_log.h"
#include "commit_log_format.h"
#include "layer.h"
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
	struct commit_log writer;
	struct commit_log reader;
	struct layer *layer; /* the reader's */
};

static void writer_start(struct fixture *f)
{
	assert_int_equal(commit_log_open(&f->writer, f->dir, false), 0);
	commit_log_restart(&f->writer, BASE, MARK);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->path = scratch_new();
	f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->dir >= 0);
	writer_start(f);
	assert_int_equal(commit_log_open(&f->reader, f->dir, true), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	layer_drop(f->layer);
	commit_log_close(&f->reader);
	commit_log_close(&f->writer);
	close(f->dir);
	scratch_remove(f->path);
	free(f);
	return 0;
}

static void value_write(struct fixture *f, const char *key, struct slice value)
{
	struct txn_write *list[] = { &(struct txn_write){ .key = slice_of(key), .value = value } };

	commit_log_begin(&f->writer);
	commit_log_add(&f->writer, &(struct writes){ .list = list, .count = 1 });
	assert_true(commit_log_fits(&f->writer));
	assert_int_equal(commit_log_write(&f->writer, true, true), 0);
}

static void entry_write(struct fixture *f, const char *key)
{
	value_write(f, key, slice_of("1"));
}

static void entry_long(struct fixture *f, const char *key)
{
	static const char value[100 * 1024];

	value_write(f, key, (struct slice){ value, sizeof(value) });
}

/* How many keys the reader sees over that transaction. */
static size_t seen(struct fixture *f, uint64_t base, uint64_t mark)
{
	assert_int_equal(commit_log_read(&f->reader, base, mark, &f->layer), 0);
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
	commit_log_restart(&f->writer, BASE + 1, MARK + 1);
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
	commit_log_close(&f->writer);
	writer_start(f);
	entry_write(f, "c");
	assert_int_equal(seen(f, BASE, MARK), 1);
}

/* As when LMDB is given what the log has: the second run is read after the first, and alone once LMDB has got it. */
static void a_second_run_continues_the_first(void **state)
{
	struct fixture *f = *state;

	entry_write(f, "a");
	entry_write(f, "b");
	assert_int_equal(seen(f, BASE, MARK), 2);
	assert_true(commit_log_can_turn(&f->writer));
	commit_log_turn(&f->writer, MARK + 1);
	assert_int_equal(seen(f, BASE, MARK), 2);
	assert_int_equal(seen(f, BASE + 1, MARK + 1), 0);
	entry_write(f, "c");
	assert_int_equal(seen(f, BASE, MARK), 3);
	entry_write(f, "d");
	entry_write(f, "e");
	assert_int_equal(seen(f, BASE, MARK), 5);
	assert_int_equal(seen(f, BASE + 1, MARK + 1), 3);
	/* Pieces leave the mark. */
	assert_int_equal(seen(f, BASE + 2, MARK), 5);
}

static void the_next_run_takes_the_place_of_the_first(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < 5; i++) {
		entry_write(f, "a");
		assert_true(commit_log_can_turn(&f->writer));
		commit_log_turn(&f->writer, MARK + i + 1);
		entry_write(f, "b");
		entry_write(f, "c");
		assert_int_equal(seen(f, BASE + i, MARK + i), 3);
		/* LMDB must have got one before it is given the next. */
		assert_false(commit_log_can_turn(&f->writer));
		commit_log_flushed(&f->writer, BASE + i + 1);
		assert_int_equal(seen(f, BASE + i + 1, MARK + i + 1), 2);
		assert_int_equal(seen(f, BASE + i + 1, MARK + i), 3);
	}
}

static void a_second_run_with_a_gap_before_it_is_not_seen(void **state)
{
	struct fixture *f = *state;

	entry_write(f, "a");
	f->writer.number++;
	commit_log_turn(&f->writer, MARK + 1);
	entry_write(f, "b");
	assert_int_equal(seen(f, BASE, MARK), 1);
	assert_int_equal(seen(f, BASE + 1, MARK + 1), 1);
}

static void a_run_that_has_passed_the_middle_has_no_second(void **state)
{
	struct fixture *f = *state;

	entry_write(f, "a");
	while (f->writer.end <= LOG_HALF) {
		assert_true(commit_log_can_turn(&f->writer));
		entry_long(f, "b");
	}
	assert_false(commit_log_can_turn(&f->writer));
	assert_int_equal(seen(f, BASE, MARK), 2);
	entry_write(f, "c");
	assert_int_equal(seen(f, BASE, MARK), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entries_are_seen_as_they_come),
		TEST(entries_of_another_transaction_are_not_seen),
		TEST(entries_are_seen_over_a_transaction_that_leaves_the_mark),
		TEST(a_log_that_takes_the_place_of_a_removed_one_is_followed),
		TEST(a_second_run_continues_the_first),
		TEST(the_next_run_takes_the_place_of_the_first),
		TEST(a_second_run_with_a_gap_before_it_is_not_seen),
		TEST(a_run_that_has_passed_the_middle_has_no_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
