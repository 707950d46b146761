/*
 * LMDB is given what the log has while commits go on: nobody waits for that who need not, and whoever looks sees all that
 * is committed, whether or not LMDB has got it.
 */
#include "gate.h"
#include "lmdb_flusher.h"
#include "numbered.h"
#include "store_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#define GIVEN 8 /* writes that LMDB is given at a time */
#define LONG ((size_t)20 * 1024)

static void store_start(struct store_fixture *f, enum store_sync sync)
{
	f->sync = sync;
	assert_int_equal(store_fixture_open(f, false), 0);
	gate_set(f->path[STORE_DATA]);
}

static int setup(void **state)
{
	lmdb_flusher_writes = GIVEN;
	(void)store_fixture_setup(state);
	store_start(*state, STORE_SYNC_OFF);
	return 0;
}

static int teardown(void **state)
{
	gate_fail(false);
	gate_open();
	return store_fixture_teardown(state);
}

static void put(struct store_fixture *f, unsigned int number)
{
	assert_int_equal(numbered_put(f->store, number, 0), 0);
}

static int state_of(struct store_fixture *f)
{
	return numbered_state(f->store);
}

/* Commits from `n` on until LMDB is stopped while it is given some of it; returns the next number. */
static unsigned int stop_in_the_middle(struct store_fixture *f, unsigned int n)
{
	gate_shut();
	for (unsigned int i = 0; i < GIVEN + 1; i++)
		put(f, n++);
	gate_await();
	return n;
}

static void commits_go_on_meanwhile(void **state)
{
	struct store_fixture *f = *state;
	uint64_t before = gate_newest();
	unsigned int n = stop_in_the_middle(f, 1);

	for (; n < 200; n++) {
		put(f, n);
		assert_int_equal(state_of(f), n);
	}
	assert_int_equal(gate_newest(), before);
	gate_open();
	store_fixture_close(f);
	store_start(f, STORE_SYNC_OFF);
	assert_int_equal(state_of(f), n - 1);
}

static void views_lie_on_what_lmdb_has_got_before_anybody_commits(void **state)
{
	struct store_fixture *f = *state;
	unsigned int n = 1;

	for (int i = 0; i < 20; i++) {
		uint64_t before = gate_newest();

		n = stop_in_the_middle(f, n);
		for (int j = 0; j < 5; j++)
			put(f, n++);
		assert_int_equal(state_of(f), n - 1);
		gate_open();
		gate_await_newer(before);
		assert_int_equal(state_of(f), n - 1);
		put(f, n++);
		assert_int_equal(state_of(f), n - 1);
		assert_int_equal(store_flush(f->store), 0);
		assert_int_equal(state_of(f), n - 1);
	}
}

/* A view that began before, and reads on when all of it is over. */
struct old_view {
	struct store_fixture *f;
	pthread_barrier_t began;
	pthread_barrier_t may_end;
	int state;
};

static int old_fn(struct store_txn *txn, void *arg)
{
	struct old_view *old = arg;

	pthread_barrier_wait(&old->began);
	pthread_barrier_wait(&old->may_end);
	return numbered_state_fn(txn, NULL);
}

static void *old_main(void *arg)
{
	struct old_view *old = arg;

	old->state = store_view(old->f->store, old_fn, old);
	return NULL;
}

static void a_view_stays_as_it_began(void **state)
{
	struct store_fixture *f = *state;
	struct old_view old = { .f = f };
	unsigned int n = stop_in_the_middle(f, 1);
	uint64_t before = gate_newest();
	pthread_t thread;

	pthread_barrier_init(&old.began, NULL, 2);
	pthread_barrier_init(&old.may_end, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, old_main, &old), 0);
	pthread_barrier_wait(&old.began);
	gate_open();
	gate_await_newer(before);
	for (unsigned int i = 0; i < 100; i++)
		put(f, n + i);
	pthread_barrier_wait(&old.may_end);
	pthread_join(thread, NULL);
	assert_int_equal(old.state, n - 1);
	pthread_barrier_destroy(&old.began);
	pthread_barrier_destroy(&old.may_end);
}

/* Something that is done on another thread, and may have to wait. */
struct work {
	struct store_fixture *f;
	unsigned int from;
	unsigned int to;
	size_t len;
	_Atomic unsigned int done;
	int rc;
};

static void *puts_main(void *arg)
{
	struct work *work = arg;

	for (unsigned int n = work->from; n < work->to && work->rc == 0; n++) {
		work->rc = numbered_put(work->f->store, n, work->len);
		work->done++;
	}
	return NULL;
}

/* More than the layer, or the log's other half, can take: that much goes on, and the rest when LMDB is ready. */
static void fill(struct store_fixture *f, unsigned int count, size_t len, unsigned int at_least)
{
	unsigned int n = stop_in_the_middle(f, 1);
	struct work work = { .f = f, .from = n, .to = n + count, .len = len };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, puts_main, &work), 0);
	while (work.done < at_least)
		(void)sched_yield();
	assert_in_range(state_of(f), n + at_least - 1, n + count - 2);
	gate_open();
	pthread_join(thread, NULL);
	assert_int_equal(work.rc, 0);
	assert_int_equal(state_of(f), n + count - 1);
	store_fixture_close(f);
	store_start(f, STORE_SYNC_OFF);
	assert_int_equal(state_of(f), n + count - 1);
}

static void a_layer_that_gets_full_meanwhile_waits(void **state)
{
	fill(*state, 3000, 0, 2000);
}

static void a_log_that_gets_full_meanwhile_waits(void **state)
{
	fill(*state, 60, LONG, 24);
}

/* Something that stays, and takes space. */
static int grow_fn(struct store_txn *txn, void *arg)
{
	static const unsigned char bytes[LONG];
	char key[16];

	(void)snprintf(key, sizeof(key), "g%u", *(const unsigned int *)arg);
	return store_put(txn, slice_of(key), (struct slice){ bytes, sizeof(bytes) });
}

/*
 * The file grows until blocks are allocated for it, which never ends. Commits follow until the thread has done its part or stands at
 * the gate; with a pause each, or they would fill the log on a busy machine before the thread ran, and then wait for it.
 */
static void commits_do_not_wait_for_blocks(void **state)
{
	struct store_fixture *f = *state;
	unsigned int grown = 0;
	unsigned int n = 1;

	gate_shut_blocks();
	while (!gate_is_waited_at()) {
		uint64_t before = gate_newest();

		for (int i = 0; i < GIVEN; i++, grown++)
			assert_int_equal(store_update(f->store, grow_fn, &grown), 0);
		while (gate_newest() == before && !gate_is_waited_at()) {
			put(f, n++);
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		}
	}
	for (int i = 0; i < 50; i++) {
		put(f, n++);
		assert_int_equal(state_of(f), n - 1);
	}
	assert_true(gate_is_waited_at());
	gate_open();
	assert_int_equal(store_flush(f->store), 0);
	assert_int_equal(state_of(f), n - 1);
}

static void *flush_main(void *arg)
{
	struct work *work = arg;

	work->rc = store_flush(work->f->store);
	work->done = 1;
	return NULL;
}

static void settling_waits_for_it(void **state)
{
	struct store_fixture *f = *state;
	unsigned int n = stop_in_the_middle(f, 1);
	uint64_t before = gate_newest();
	struct work work = { .f = f, .rc = -1 };
	pthread_t thread;

	put(f, n);
	assert_int_equal(pthread_create(&thread, NULL, flush_main, &work), 0);
	assert_int_equal(state_of(f), n);
	assert_int_equal(work.done, 0);
	gate_open();
	pthread_join(thread, NULL);
	assert_int_equal(work.rc, 0);
	/* What LMDB was given, and then the rest. */
	assert_true(gate_newest() >= before + 2);
	assert_int_equal(state_of(f), n);
}

static void if_the_disk_fails_commits_go_on_in_the_log(void **state)
{
	struct store_fixture *f = *state;
	struct store_stats stats;
	uint64_t before = gate_newest();
	unsigned int n = 1;

	gate_fail(true);
	for (; n < 200; n++) {
		put(f, n);
		assert_int_equal(state_of(f), n);
	}
	assert_int_equal(store_flush(f->store), -EIO);
	store_stats(f->store, &stats);
	assert_int_equal(stats.flush_error, -EIO);
	put(f, n++);
	assert_int_equal(gate_newest(), before);
	gate_fail(false);
	assert_int_equal(store_flush(f->store), 0);
	store_stats(f->store, &stats);
	assert_int_equal(stats.flush_error, 0);
	for (; n < 300; n++)
		put(f, n);
	assert_int_equal(state_of(f), n - 1);
	store_fixture_close(f);
	store_start(f, STORE_SYNC_OFF);
	assert_int_equal(state_of(f), n - 1);
}

static void a_store_that_was_closed_has_a_log_that_older_programs_know(void **state)
{
	struct store_fixture *f = *state;
	struct stat st;
	unsigned int n = stop_in_the_middle(f, 1);

	put(f, n);
	assert_int_equal(stat(f->path[STORE_LOG], &st), 0);
	assert_true(st.st_size > 1024 * 1024);
	gate_open();
	store_fixture_close(f);
	assert_int_equal(stat(f->path[STORE_LOG], &st), 0);
	assert_int_equal(st.st_size, 1024 * 1024);
	store_start(f, STORE_SYNC_OFF);
	assert_int_equal(state_of(f), n);
}

/* --- All at once --- */

struct crowd {
	struct store_fixture *f;
	_Atomic bool over;
	_Atomic unsigned int bad;
	pthread_mutex_t lock;
	unsigned int next; /* lock */
};

static void *crowd_puts(void *arg)
{
	struct crowd *crowd = arg;

	for (int i = 0; i < 400; i++) {
		pthread_mutex_lock(&crowd->lock);
		unsigned int n = crowd->next++;
		if (numbered_put(crowd->f->store, n, 0) != 0)
			crowd->bad++;
		pthread_mutex_unlock(&crowd->lock);
	}
	return NULL;
}

static void *crowd_looks(void *arg)
{
	struct crowd *crowd = arg;
	int last = 0;

	while (!crowd->over) {
		int now = state_of(crowd->f);

		if (now < last)
			crowd->bad++;
		last = now;
	}
	return NULL;
}

static void *crowd_flushes(void *arg)
{
	struct crowd *crowd = arg;

	for (int i = 0; i < 20; i++) {
		if (store_flush(crowd->f->store) != 0)
			crowd->bad++;
	}
	return NULL;
}

static void many_threads_agree(void **state)
{
	static void *(*const mains[])(void *) = { crowd_puts, crowd_puts, crowd_flushes, crowd_looks, crowd_looks };
	struct crowd crowd = { .f = *state, .lock = PTHREAD_MUTEX_INITIALIZER, .next = 1 };
	pthread_t threads[5];

	for (int i = 0; i < 5; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, mains[i], &crowd), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	crowd.over = true;
	for (int i = 3; i < 5; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.bad, 0);
	assert_int_equal(state_of(crowd.f), 800);
	store_fixture_close(crowd.f);
	store_start(crowd.f, STORE_SYNC_OFF);
	assert_int_equal(state_of(crowd.f), 800);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(commits_go_on_meanwhile),
		TEST(views_lie_on_what_lmdb_has_got_before_anybody_commits),
		TEST(a_view_stays_as_it_began),
		TEST(a_layer_that_gets_full_meanwhile_waits),
		TEST(a_log_that_gets_full_meanwhile_waits),
		TEST(commits_do_not_wait_for_blocks),
		TEST(settling_waits_for_it),
		TEST(if_the_disk_fails_commits_go_on_in_the_log),
		TEST(a_store_that_was_closed_has_a_log_that_older_programs_know),
		TEST(many_threads_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
