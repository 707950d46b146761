/*
 * Fencing tokens: greater with every grant, whatever is closed, crashes, or is lost with the end of an unsynced store.
 */
#include "child.h"
#include "record.h"
#include "scratch.h"
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LOCK "global/a"

/* Takes and releases the lock; the token must be greater than `last`. */
static uint64_t token_after(struct stage *s, uint64_t last)
{
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_true(s->grant.token > last);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	return s->grant.token;
}

static void tokens_grow_over_restarts(void **state)
{
	struct stage *s = *state;
	uint64_t last = 0;

	for (int i = 0; i < 20; i++) {
		last = token_after(s, last);
		stage_reopen(s);
	}
}

/* The commit in flight may or may not have made it; its token is not given out twice. */
static void tokens_grow_over_crashes(void **state)
{
	struct stage *s = *state;
	uint64_t last = 0;

	for (uint64_t i = 0; i < 40; i++) {
		struct mem_faults *faults = mem_world_faults(s->world);

		last = token_after(s, last);
		faults->crash_in = 1 + i % 4;
		faults->crash_applied = i % 2 == 0;
		for (int tries = 0; tries < 4; tries++) {
			if (stage_acquire(s, LOCK, "alice@1", 60) == 0) {
				assert_true(s->grant.token > last);
				last = s->grant.token;
				(void)stage_release(s, LOCK, "alice@1");
			}
		}
		stage_reopen(s);
		(void)stage_release(s, LOCK, "alice@1");
	}
}

static void failed_commits_give_out_nothing(void **state)
{
	struct stage *s = *state;
	uint64_t last = token_after(s, 0);

	for (int i = 0; i < 10; i++) {
		*mem_world_faults(s->world) = (struct mem_faults){ .fail_in = 1, .fail_error = ENOSPC };
		assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), -ENOSPC);
		last = token_after(s, last);
	}
}

static int counter_in_txn(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_meta("counter");
	struct slice value;
	int rc = store_get(txn, record_key_slice(&key), &value);

	return rc == 0 ? record_decode(RECORD_COUNTER, value, arg) : -ENOENT;
}

/* What an unsynced store gives out has been reserved on disk before. */
static void unsynced_tokens_stay_below_what_was_reserved(void **state)
{
	struct stage *s = *state;
	struct record_counter counter;
	uint64_t last = 0;

	stage_close(s);
	s->options.sync = ATLOCK_SYNC_OFF;
	stage_open(s);
	for (int i = 0; i < 200; i++) {
		last = token_after(s, last);
		assert_int_equal(stage_tamper(s, counter_in_txn, &counter), 0);
		assert_true(last < counter.next);
		assert_true(counter.next <= counter.ceiling);
		if (i % 50 == 49)
			stage_reopen(s);
	}
}

static void switching_sync_gives_out_nothing_twice(void **state)
{
	struct stage *s = *state;
	uint64_t last = 0;

	for (int i = 0; i < 6; i++) {
		stage_close(s);
		s->options.sync = i % 2 == 0 ? ATLOCK_SYNC_OFF : ATLOCK_SYNC_COMMIT;
		stage_open(s);
		last = token_after(s, token_after(s, last));
	}
}

/* --- The end of an unsynced store is lost: its files are what they were a while ago --- */

static const char *const store_files[] = { "data.mdb", "commit.log" };

struct copy {
	char from[128];
	char to[128];
};

static struct copy copy_of(const struct stage *s, const char *file)
{
	struct copy copy;

	(void)snprintf(copy.from, sizeof(copy.from), "%s/%s", s->dir, file);
	(void)snprintf(copy.to, sizeof(copy.to), "%s/%s.before", s->dir, file);
	return copy;
}

static void file_copy(const struct copy *copy)
{
	struct stat st;
	int from = open(copy->from, O_RDONLY | O_CLOEXEC);
	int to = open(copy->to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	off_t at = 0;

	if (from < 0 || to < 0 || fstat(from, &st) < 0)
		_exit(1);
	while (at < st.st_size)
		if (sendfile(to, from, &at, (size_t)(st.st_size - at)) <= 0)
			_exit(1);
	(void)close(to);
	(void)close(from);
}

/* Runs in another process: closing the file in this one would drop the locks that LMDB has on it. */
static void files_copy_elsewhere(int tell, void *arg)
{
	(void)tell;
	for (size_t i = 0; i < sizeof(store_files) / sizeof(store_files[0]); i++) {
		struct copy copy = copy_of(arg, store_files[i]);

		file_copy(&copy);
	}
}

static void files_put_back(const struct stage *s)
{
	for (size_t i = 0; i < sizeof(store_files) / sizeof(store_files[0]); i++) {
		struct copy copy = copy_of(s, store_files[i]);

		assert_int_equal(rename(copy.to, copy.from), 0);
	}
}

static void tokens_grow_though_the_end_of_the_store_was_lost(void **state)
{
	struct stage *s = *state;
	struct child child;
	uint64_t last = token_after(s, 0);

	child = child_start(files_copy_elsewhere, s);
	child_wait(&child);
	for (int i = 0; i < 300; i++)
		last = token_after(s, last);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	uint64_t held = s->grant.token;
	stage_close(s);
	files_put_back(s);
	stage_open(s);
	/* Alice's lock is lost, as sync=off allows; whoever has it now must be known to be later. */
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), 0);
	assert_true(s->grant.token > held);
	assert_true(held > last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(tokens_grow_over_restarts),
		STAGED(tokens_grow_over_crashes),
		STAGED(failed_commits_give_out_nothing),
		STAGED(unsynced_tokens_stay_below_what_was_reserved),
		STAGED(switching_sync_gives_out_nothing_twice),
		STAGED_LIVE(tokens_grow_though_the_end_of_the_store_was_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
