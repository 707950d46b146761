/*
 * The log in two runs, because LMDB was being given the first: whatever a crash leaves of the files then, and whatever another
 * process sees of them, the store is as after the last commit that was answered or the one after it.
 */
#include "child.h"
#include "gate.h"
#include "image.h"
#include "lmdb_flusher.h"
#include "numbered.h"
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
#include <unistd.h>

#include <cmocka.h>

#define HALF ((size_t)512 * 1024)
#define HEAD 40
#define GIVEN 8  /* writes that LMDB is given at a time */
#define FIRST 6  /* commits in the first run, which have so many writes */
#define SECOND 9 /* in the second; one more, and LMDB is given this one too */
#define ALL (1 + FIRST + SECOND)

/* How far LMDB has got when the process is killed. */
enum stage {
	STAGE_GIVEN,     /* it is being given the first run */
	STAGE_HAS_GOT,   /* it has got it, and no commit has come since */
	STAGE_TAKEN_OVER /* and one has */
};

static enum stage stage; /* of the test that runs */

static int setup(void **state)
{
	lmdb_flusher_writes = GIVEN;
	stage = STAGE_GIVEN;
	return store_fixture_setup(state);
}

static void child_must(bool well)
{
	if (!well)
		_exit(1);
}

/* 1 is LMDB's; then come the two runs. */
static void child_commits(int tell, void *arg)
{
	struct store_fixture *f = arg;
	unsigned int n = 1;

	child_must(store_fixture_open(f, false) == 0);
	gate_set(f->path[STORE_DATA]);
	child_must(numbered_put(f->store, n++, 0) == 0 && store_flush(f->store) == 0);
	uint64_t before = gate_newest();
	gate_shut();
	while (n <= ALL) {
		child_must(numbered_put(f->store, n++, 0) == 0);
		if (n == 1 + FIRST + 2)
			gate_await();
	}
	if (stage >= STAGE_HAS_GOT) {
		gate_open();
		gate_await_newer(before);
	}
	if (stage == STAGE_TAKEN_OVER) {
		gate_shut();
		child_must(numbered_put(f->store, n++, 0) == 0);
	}
	child_must(write(tell, "x", 1) == 1);
}

/* A process that is there, and has done all that. */
static struct child writer_start(struct store_fixture *f)
{
	struct child child = child_start(child_commits, f);
	char done;

	assert_int_equal(read(child.told, &done, 1), 1);
	return child;
}

static void crash(struct store_fixture *f)
{
	struct child child = writer_start(f);

	child_kill(&child);
	child_wait(&child);
	f->store = NULL;
}

static int last(void)
{
	return ALL + (stage == STAGE_TAKEN_OVER);
}

/* Opened, looked at, gone on from, closed, and opened again. */
static void assert_is(struct store_fixture *f, int number)
{
	assert_int_equal(store_fixture_open(f, true), 0);
	assert_int_equal(numbered_state(f->store), number);
	store_close(f->store);
	assert_int_equal(store_fixture_open(f, false), 0);
	for (int i = number; i < number + 2 * GIVEN; i++) {
		assert_int_equal(numbered_state(f->store), i);
		assert_int_equal(numbered_put(f->store, (unsigned int)i + 1, 0), 0);
	}
	store_close(f->store);
	assert_int_equal(store_fixture_open(f, false), 0);
	assert_int_equal(numbered_state(f->store), number + 2 * GIVEN);
	store_close(f->store);
	f->store = NULL;
}

static void a_killed_process_leaves_all_its_commits(void **state)
{
	struct store_fixture *f = *state;
	struct stat st;

	for (f->sync = STORE_SYNC_COMMIT;; f->sync = STORE_SYNC_OFF) {
		for (stage = STAGE_GIVEN; stage <= STAGE_TAKEN_OVER; stage++) {
			crash(f);
			/* Programs that know of one run only do not open it. */
			assert_int_equal(stat(f->path[STORE_LOG], &st), 0);
			assert_true(st.st_size > (off_t)(2 * HALF));
			assert_is(f, last());
			assert_int_equal(stat(f->path[STORE_LOG], &st), 0);
			assert_int_equal(st.st_size, 2 * HALF);
			for (size_t i = 0; i < 3; i++)
				assert_int_equal(unlink(f->path[i]), 0);
		}
		if (f->sync == STORE_SYNC_OFF)
			break;
	}
}

static void another_process_sees_all_commits(void **state)
{
	struct store_fixture *f = *state;

	for (stage = STAGE_GIVEN; stage <= STAGE_TAKEN_OVER; stage++) {
		struct child child = writer_start(f);

		assert_int_equal(store_fixture_open(f, true), 0);
		assert_int_equal(numbered_state(f->store), last());
		assert_int_equal(numbered_state(f->store), last());
		store_close(f->store);
		f->store = NULL;
		child_kill(&child);
		child_wait(&child);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(unlink(f->path[i]), 0);
	}
}

#define MANY 3000

static void *goes_on_main(void *arg)
{
	struct store_fixture *f = arg;

	for (unsigned int n = 2; n <= MANY; n++)
		child_must(numbered_put(f->store, n, 0) == 0);
	return NULL;
}

static void child_goes_on(int tell, void *arg)
{
	struct store_fixture *f = arg;
	pthread_t thread;

	(void)tell;
	child_must(store_fixture_open(f, false) == 0 && numbered_put(f->store, 1, 0) == 0);
	child_must(pthread_create(&thread, NULL, goes_on_main, f) == 0);
}

/* Each look is at no fewer commits than the one before. */
static void another_process_follows_along(void **state)
{
	struct store_fixture *f = *state;
	int seen = 1;

	f->sync = STORE_SYNC_OFF;
	struct child child = child_start(child_goes_on, f);
	assert_int_equal(store_fixture_open(f, true), 0);
	while (seen < MANY) {
		int now = numbered_state(f->store);

		if (now == -EAGAIN)
			continue;
		assert_in_range(now, seen, MANY);
		seen = now;
	}
	child_kill(&child);
	child_wait(&child);
}

/* --- Damage --- */

struct remains {
	struct image data;
	struct image log;
};

static struct remains remains_take(struct store_fixture *f)
{
	crash(f);
	return (struct remains){ .data = image_read(f->path[STORE_DATA]), .log = image_read(f->path[STORE_LOG]) };
}

static void remains_put(struct store_fixture *f, const struct remains *remains)
{
	store_close(f->store);
	f->store = NULL;
	(void)unlink(f->path[STORE_READERS]);
	image_write(f->path[STORE_DATA], &remains->data);
	image_write(f->path[STORE_LOG], &remains->log);
}

static void remains_free(struct remains *remains)
{
	free(remains->data.bytes);
	free(remains->log.bytes);
}

/* Where entry `i` of a run begins. */
static size_t entry_at(const struct remains *remains, size_t run, int i)
{
	size_t at = run;

	while (i-- > 0) {
		uint32_t len;

		memcpy(&len, remains->log.bytes + at + 4, sizeof(len));
		at += len;
	}
	return at;
}

/* What becomes of the store if one byte of an entry is another: its state, or a negative errno. */
static int damaged(struct store_fixture *f, struct remains *remains, size_t at)
{
	remains->log.bytes[at] ^= 1;
	remains_put(f, remains);
	int rc = store_fixture_open(f, false);
	remains->log.bytes[at] ^= 1;
	return rc < 0 ? rc : numbered_state(f->store);
}

static void damage_to_either_run_is_refused(void **state)
{
	struct store_fixture *f = *state;
	struct remains remains = remains_take(f);

	for (int i = 0; i < FIRST; i++)
		assert_int_equal(damaged(f, &remains, entry_at(&remains, 0, i) + HEAD + 3), -EUCLEAN);
	for (int i = 0; i < SECOND - 1; i++)
		assert_int_equal(damaged(f, &remains, entry_at(&remains, HALF, i) + HEAD + 3), -EUCLEAN);
	for (size_t at = 0; at < HEAD; at += STRIDE) {
		assert_int_equal(damaged(f, &remains, at), -EUCLEAN);
		assert_int_equal(damaged(f, &remains, HALF + at), -EUCLEAN);
	}
	remains_put(f, &remains);
	assert_is(f, ALL);
	remains_free(&remains);
}

static void what_lmdb_has_got_may_be_damaged(void **state)
{
	struct store_fixture *f = *state;

	stage = STAGE_HAS_GOT;
	struct remains remains = remains_take(f);
	for (int i = 0; i < FIRST; i++)
		assert_int_equal(damaged(f, &remains, entry_at(&remains, 0, i) + HEAD + 3), ALL);
	for (int i = 0; i < SECOND - 1; i++)
		assert_int_equal(damaged(f, &remains, entry_at(&remains, HALF, i) + HEAD + 3), -EUCLEAN);
	remains_free(&remains);
}

static void a_torn_entry_is_as_if_it_had_never_been(void **state)
{
	struct store_fixture *f = *state;

	for (stage = STAGE_GIVEN; stage <= STAGE_HAS_GOT; stage++) {
		struct remains remains = remains_take(f);
		size_t begin = entry_at(&remains, HALF, SECOND - 1);

		for (size_t cut = entry_at(&remains, HALF, SECOND); cut >= begin + STRIDE;) {
			cut -= STRIDE;
			remains.log.bytes[cut] ^= 0x55;
			remains_put(f, &remains);
			assert_int_equal(store_fixture_open(f, false), 0);
			assert_int_equal(numbered_state(f->store), ALL - 1);
		}
		/* The first of the run, too: then there is nothing but what comes before. */
		memset(remains.log.bytes + HALF, 0, HALF);
		remains_put(f, &remains);
		assert_is(f, 1 + FIRST);
		remains_free(&remains);
		for (size_t i = 0; i < 3; i++)
			(void)unlink(f->path[i]);
	}
}

static void without_sync_the_store_is_what_comes_before_the_first_hole(void **state)
{
	struct store_fixture *f = *state;

	f->sync = STORE_SYNC_OFF;
	struct remains remains = remains_take(f);
	for (int i = 0; i < FIRST; i += STRIDE)
		assert_int_equal(damaged(f, &remains, entry_at(&remains, 0, i) + HEAD + 3), 1 + i);
	for (int i = 0; i < SECOND; i += STRIDE)
		assert_int_equal(damaged(f, &remains, entry_at(&remains, HALF, i) + HEAD + 3), 1 + FIRST + i);
	/* What follows a hole in the first run does not come back with what is written in its place. */
	assert_int_equal(damaged(f, &remains, HEAD + 3), 1);
	assert_int_equal(numbered_put(f->store, 2, 0), 0);
	struct remains again = { .data = image_read(f->path[STORE_DATA]), .log = image_read(f->path[STORE_LOG]) };
	remains_put(f, &again);
	assert_is(f, 2);
	remains_free(&again);
	remains_free(&remains);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, store_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_killed_process_leaves_all_its_commits),
		TEST(another_process_sees_all_commits),
		TEST(another_process_follows_along),
		TEST(damage_to_either_run_is_refused),
		TEST(what_lmdb_has_got_may_be_damaged),
		TEST(a_torn_entry_is_as_if_it_had_never_been),
		TEST(without_sync_the_store_is_what_comes_before_the_first_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
