/*
 * The log of the LMDB engine: whatever a crash leaves of the files, the store is as after the last commit that was answered
 * or the one after it, and never a mixture.
 */
#include "child.h"
#include "image.h"
#include "rounds.h"
#include "store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LOG_SIZE (1024 * 1024)
#define HEAD 40    /* bytes before an entry's writes */
#define COMMITS 20 /* that a crash finds in the log */

/* Sets "n" to the number and adds a key for it; removes the key of the one before. So each state is known by its number. */
static int number_fn(struct store_txn *txn, void *arg)
{
	unsigned char number = *(unsigned char *)arg;
	unsigned char before[] = { 'k', (unsigned char)(number - 1) };
	unsigned char key[] = { 'k', number };
	int rc = store_put(txn, slice_of("n"), (struct slice){ &number, 1 });

	if (rc == 0)
		rc = store_put(txn, (struct slice){ key, 2 }, (struct slice){ &number, 1 });
	if (rc == 0)
		rc = store_del(txn, (struct slice){ before, 2 });
	return rc < 0 ? rc : 0;
}

static void put_number(struct store_fixture *f, int number)
{
	unsigned char n = (unsigned char)number;

	assert_int_equal(store_update(f->store, number_fn, &n), 0);
}

/* The number of the state, or a negative errno if it is a mixture. */
static int state_fn(struct store_txn *txn, void *arg)
{
	struct slice value;
	struct slice key;
	unsigned char n;

	(void)arg;
	if (store_get(txn, slice_of("n"), &value) != 0 || value.len != 1)
		return -ENOENT;
	n = *(const unsigned char *)value.data;
	if (store_next(txn, slice_of("k"), slice_of("k"), &key, &value) != 0 || key.len != 2 || value.len != 1 ||
	    *(const unsigned char *)value.data != n || ((const unsigned char *)key.data)[1] != n)
		return -EILSEQ;
	unsigned char after[] = { 'k', (unsigned char)(n + 1) };
	return store_next(txn, (struct slice){ after, 2 }, slice_of("k"), &key, NULL) == 1 ? n : -EEXIST;
}

static int state_of(struct store_fixture *f)
{
	return store_view(f->store, state_fn, NULL);
}

/* In another process, which is killed: 1 is in LMDB, and COMMITS more in the log. */
static void child_commits(int tell, void *arg)
{
	struct store_fixture *f = arg;

	(void)tell;
	if (store_fixture_open(f, false) != 0)
		_exit(1);
	put_number(f, 1);
	if (store_flush(f->store) != 0)
		_exit(1);
	for (int i = 2; i < 2 + COMMITS; i++)
		put_number(f, i);
}

static void crash(struct store_fixture *f)
{
	struct child child = child_start(child_commits, f);

	child_kill(&child);
	child_wait(&child);
	f->store = NULL;
}

static void a_killed_process_leaves_all_its_commits(void **state)
{
	struct store_fixture *f = *state;

	crash(f);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 1 + COMMITS);
	put_number(f, 2 + COMMITS);
	store_fixture_close(f);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 2 + COMMITS);
}

static void what_a_killed_process_left_can_be_read_without_writing(void **state)
{
	struct store_fixture *f = *state;

	crash(f);
	struct image before = image_read(f->path[STORE_LOG]);
	assert_int_equal(store_fixture_open(f, true), 0);
	assert_int_equal(state_of(f), 1 + COMMITS);
	store_fixture_close(f);
	struct image after = image_read(f->path[STORE_LOG]);
	assert_memory_equal(before.bytes, after.bytes, LOG_SIZE);
	free(before.bytes);
	free(after.bytes);
}

/* The files of a crash, to be damaged and opened again and again. */
struct remains {
	struct image data;
	struct image log;
	size_t end; /* of the entries */
};

static struct remains remains_take(struct store_fixture *f)
{
	struct remains remains;

	crash(f);
	remains.data = image_read(f->path[STORE_DATA]);
	remains.log = image_read(f->path[STORE_LOG]);
	assert_int_equal(remains.log.len, LOG_SIZE);
	remains.end = 0;
	for (size_t i = 0; i < LOG_SIZE; i++)
		remains.end = remains.log.bytes[i] != 0 ? i + 1 : remains.end;
	assert_true(remains.end > COMMITS * HEAD);
	return remains;
}

static void remains_put(struct store_fixture *f, const struct remains *remains)
{
	store_fixture_close(f);
	(void)unlink(f->path[STORE_READERS]);
	image_write(f->path[STORE_DATA], &remains->data);
	image_write(f->path[STORE_LOG], &remains->log);
}

static void remains_free(struct remains *remains)
{
	free(remains->data.bytes);
	free(remains->log.bytes);
}

/* Length of the entry at `at`. */
static size_t entry_len(const struct remains *remains, size_t at)
{
	const unsigned char *len = remains->log.bytes + at + 4;

	return (size_t)len[0] | (size_t)len[1] << 8 | (size_t)len[2] << 16;
}

/* Where entry `i` begins. */
static size_t entry_at(const struct remains *remains, int i)
{
	size_t at = 0;

	while (i-- > 0)
		at += entry_len(remains, at);
	return at;
}

static void a_torn_entry_is_as_if_it_had_never_been(void **state)
{
	struct store_fixture *f = *state;
	struct remains remains = remains_take(f);
	size_t last = entry_at(&remains, COMMITS - 1);

	assert_int_equal(last + entry_len(&remains, last), remains.end);
	for (size_t cut = remains.end - 1; cut >= last; cut -= STRIDE) {
		memset(remains.log.bytes + cut, 0, remains.end - cut);
		remains_put(f, &remains);
		assert_int_equal(store_fixture_open(f, false), 0);
		assert_int_equal(state_of(f), COMMITS);
		put_number(f, COMMITS + 1);
		assert_int_equal(state_of(f), COMMITS + 1);
	}
	remains_free(&remains);
}

static void damage_before_the_last_entry_is_refused(void **state)
{
	struct store_fixture *f = *state;
	struct remains remains = remains_take(f);

	for (int i = 0; i < COMMITS - 1; i++) {
		size_t at = entry_at(&remains, i) + HEAD + 3;

		remains.log.bytes[at] ^= 1;
		remains_put(f, &remains);
		assert_int_equal(store_fixture_open(f, false), -EUCLEAN);
		assert_non_null(strstr(f->why, "commit.log is damaged"));
		remains.log.bytes[at] ^= 1;
	}
	remains_put(f, &remains);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 1 + COMMITS);
	remains_free(&remains);
}

static void damage_to_the_first_entry_is_refused(void **state)
{
	struct store_fixture *f = *state;
	struct remains remains = remains_take(f);

	for (size_t at = 0; at < HEAD; at++) {
		remains.log.bytes[at] ^= 1;
		remains_put(f, &remains);
		assert_int_equal(store_fixture_open(f, false), -EUCLEAN);
		remains.log.bytes[at] ^= 1;
	}
	remains_free(&remains);
}

static void without_sync_the_store_is_what_comes_before_the_first_hole(void **state)
{
	struct store_fixture *f = *state;

	f->sync = STORE_SYNC_OFF;
	struct remains remains = remains_take(f);
	for (int i = 0; i < COMMITS; i++) {
		size_t at = entry_at(&remains, i) + HEAD + 3;

		/* However it is opened next. */
		f->sync = i % 2 == 0 ? STORE_SYNC_OFF : STORE_SYNC_COMMIT;
		remains.log.bytes[at] ^= 1;
		remains_put(f, &remains);
		assert_int_equal(store_fixture_open(f, false), 0);
		assert_int_equal(state_of(f), i + 1);
		put_number(f, i + 2);
		assert_int_equal(state_of(f), i + 2);
		remains.log.bytes[at] ^= 1;
	}
	remains_free(&remains);
}

static void a_log_of_another_store_is_void(void **state)
{
	struct store_fixture *f = *state;
	struct remains other = remains_take(f);

	/* As like it as two stores can be. */
	assert_int_equal(unlink(f->path[STORE_DATA]), 0);
	assert_int_equal(unlink(f->path[STORE_LOG]), 0);
	struct remains remains = remains_take(f);
	assert_int_equal(remains.end, other.end);
	struct remains mixed = { .data = remains.data, .log = other.log };
	remains_put(f, &mixed);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 1);
	remains_free(&remains);
	remains_free(&other);
}

static void an_older_copy_is_not_continued_by_a_newer_log(void **state)
{
	struct store_fixture *f = *state;

	assert_int_equal(store_fixture_open(f, false), 0);
	put_number(f, 1);
	store_fixture_close(f);
	struct image copy = image_read(f->path[STORE_DATA]);
	struct remains remains = remains_take(f);
	image_write(f->path[STORE_DATA], &copy);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 1);
	free(copy.bytes);
	remains_free(&remains);
}

static void a_log_without_its_transaction_is_void(void **state)
{
	struct store_fixture *f = *state;
	struct remains remains = remains_take(f);

	/* LMDB has gone on: what the log says is in it already. */
	assert_int_equal(store_fixture_open(f, false), 0);
	put_number(f, 2 + COMMITS);
	store_fixture_close(f);
	image_write(f->path[STORE_LOG], &remains.log);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 2 + COMMITS);
	put_number(f, 3 + COMMITS);
	store_fixture_close(f);

	/* A log that was moved away: what LMDB has is there, and goes on from there. */
	remains_put(f, &remains);
	assert_int_equal(unlink(f->path[STORE_LOG]), 0);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 1);
	put_number(f, 2);
	assert_int_equal(state_of(f), 2);
	remains_free(&remains);
}

static void a_crash_while_the_log_begins_anew_loses_nothing(void **state)
{
	struct store_fixture *f = *state;
	struct remains remains = remains_take(f);

	/* As when LMDB has its new transaction and the first entry after it is torn at any byte. */
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(store_flush(f->store), 0);
	struct image data = image_read(f->path[STORE_DATA]);
	put_number(f, 2 + COMMITS);
	struct image log = image_read(f->path[STORE_LOG]);
	struct remains torn = { .data = data, .log = remains.log };
	size_t len = entry_len(&(struct remains){ .log = log }, 0);
	for (size_t cut = 0; cut <= len; cut++) {
		memcpy(torn.log.bytes, log.bytes, cut);
		remains_put(f, &torn);
		assert_int_equal(store_fixture_open(f, false), 0);
		assert_int_equal(state_of(f), (cut < len ? 1 : 2) + COMMITS);
	}
	free(data.bytes);
	free(log.bytes);
	remains_free(&remains);
}

static void the_log_can_be_filled_many_times(void **state)
{
	struct store_fixture *f = *state;
	struct store_options options = { .sync = STORE_SYNC_OFF };

	assert_int_equal(store_open(&f->store, f->dir, &options, f->why, sizeof(f->why)), 0);
	for (int i = 1; i < 20000; i++)
		put_number(f, i % 200 + 1);
	assert_int_equal(state_of(f), 19999 % 200 + 1);
	store_fixture_close(f);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 19999 % 200 + 1);
}

static int do_fn(struct store_txn *txn, void *arg)
{
	(void)arg;
	return store_put(txn, slice_of("x"), slice_of("1"));
}

static int undo_fn(struct store_txn *txn, void *arg)
{
	(void)arg;
	return store_del(txn, slice_of("x"));
}

static void child_undoes(int tell, void *arg)
{
	struct store_fixture *f = arg;

	(void)tell;
	if (store_fixture_open(f, false) != 0)
		_exit(1);
	put_number(f, 1);
	if (store_flush(f->store) != 0)
		_exit(1);
	/* What comes to nothing gives LMDB no new transaction, and entries of the same length follow in its place. */
	for (int i = 0; i < 10; i++) {
		if (store_update(f->store, do_fn, NULL) != 0 || store_update(f->store, undo_fn, NULL) != 0)
			_exit(1);
	}
	if (store_flush(f->store) != 0 || store_update(f->store, do_fn, NULL) != 0)
		_exit(1);
}

static int has_x_fn(struct store_txn *txn, void *arg)
{
	struct slice value;

	(void)arg;
	return store_get(txn, slice_of("x"), &value);
}

static void entries_that_came_to_nothing_do_not_come_back(void **state)
{
	struct store_fixture *f = *state;
	struct child child = child_start(child_undoes, f);

	child_kill(&child);
	child_wait(&child);
	f->store = NULL;
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(store_view(f->store, has_x_fn, NULL), 0);
	assert_int_equal(state_of(f), 1);
}

static void a_store_whose_log_is_removed_answers_no_more(void **state)
{
	struct store_fixture *f = *state;
	unsigned char n = 3;

	assert_int_equal(store_fixture_open(f, false), 0);
	put_number(f, 1);
	assert_int_equal(unlink(f->path[STORE_LOG]), 0);
	assert_int_equal(store_update(f->store, number_fn, &n), -EIO);
	assert_int_equal(store_view(f->store, state_fn, NULL), -EIO);
}

/* Without waiting for the disk it notices within a moment, not at once. */
static void a_store_that_does_not_sync_notices_that_its_log_is_removed(void **state)
{
	struct store_fixture *f = *state;
	unsigned char n = 1;
	int rc = 0;

	f->store = NULL;
	assert_int_equal(store_open(&f->store, f->dir, &(struct store_options){ .sync = STORE_SYNC_OFF }, f->why,
				    sizeof(f->why)),
			 0);
	put_number(f, n);
	assert_int_equal(unlink(f->path[STORE_LOG]), 0);
	for (time_t until = time(NULL) + 10; rc == 0 && time(NULL) < until;) {
		n++;
		rc = store_update(f->store, number_fn, &n);
	}
	assert_int_equal(rc, -EIO);
}

static void a_log_of_another_size_is_refused(void **state)
{
	struct store_fixture *f = *state;

	assert_int_equal(store_fixture_open(f, false), 0);
	store_fixture_close(f);
	assert_int_equal(truncate(f->path[STORE_LOG], LOG_SIZE / 2), 0);
	assert_int_equal(store_fixture_open(f, false), -EUCLEAN);
	assert_non_null(strstr(f->why, "commit.log"));
	assert_int_equal(unlink(f->path[STORE_LOG]), 0);
	assert_int_equal(mkdir(f->path[STORE_LOG], 0700), 0);
	assert_true(store_fixture_open(f, false) < 0);
	assert_int_equal(rmdir(f->path[STORE_LOG]), 0);
}

static void a_log_that_is_no_file_is_refused(void **state)
{
	struct store_fixture *f = *state;

	assert_int_equal(store_fixture_open(f, false), 0);
	store_fixture_close(f);
	for (int readonly = 0; readonly < 2; readonly++) {
		assert_int_equal(unlink(f->path[STORE_LOG]), 0);
		assert_int_equal(mkfifo(f->path[STORE_LOG], 0600), 0);
		assert_int_equal(store_fixture_open(f, readonly), -EUCLEAN);
		assert_int_equal(unlink(f->path[STORE_LOG]), 0);
		assert_int_equal(symlink(f->path[STORE_DATA], f->path[STORE_LOG]), 0);
		f->why[0] = 0;
		assert_int_equal(store_fixture_open(f, readonly), -EUCLEAN);
		assert_non_null(strstr(f->why, "commit.log"));
	}
}

static void a_flushed_store_is_whole_without_its_log(void **state)
{
	struct store_fixture *f = *state;

	assert_int_equal(store_fixture_open(f, false), 0);
	for (int i = 1; i < 10; i++)
		put_number(f, i);
	assert_int_equal(store_flush(f->store), 0);
	struct remains remains = { .data = image_read(f->path[STORE_DATA]) };
	store_fixture_close(f);
	image_write(f->path[STORE_DATA], &remains.data);
	assert_int_equal(unlink(f->path[STORE_LOG]), 0);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(state_of(f), 9);
	remains_free(&remains);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, store_fixture_setup, store_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_killed_process_leaves_all_its_commits),
		TEST(what_a_killed_process_left_can_be_read_without_writing),
		TEST(a_torn_entry_is_as_if_it_had_never_been),
		TEST(damage_before_the_last_entry_is_refused),
		TEST(damage_to_the_first_entry_is_refused),
		TEST(without_sync_the_store_is_what_comes_before_the_first_hole),
		TEST(a_log_of_another_store_is_void),
		TEST(an_older_copy_is_not_continued_by_a_newer_log),
		TEST(a_log_without_its_transaction_is_void),
		TEST(a_crash_while_the_log_begins_anew_loses_nothing),
		TEST(the_log_can_be_filled_many_times),
		TEST(entries_that_came_to_nothing_do_not_come_back),
		TEST(a_store_whose_log_is_removed_answers_no_more),
		TEST(a_store_that_does_not_sync_notices_that_its_log_is_removed),
		TEST(a_log_of_another_size_is_refused),
		TEST(a_log_that_is_no_file_is_refused),
		TEST(a_flushed_store_is_whole_without_its_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
