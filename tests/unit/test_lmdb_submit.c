/*
 * Updates that nobody waits for, in the LMDB engine: each is done once and in order, they share commits with others, and no
 * thread sleeps for them.
 */
#include "store_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 8
#define ROUNDS 200

struct fixture {
	struct store_fixture disk;
	sem_t inside; /* posted by a function that then waits for `go` */
	sem_t go;
	_Atomic int wrong; /* cmocka's assertions only work on its own thread */
	_Atomic unsigned int done;
	sem_t all; /* posted by each that is done */
};

struct order {
	struct store_job job;
	struct fixture *fixture;
	uint64_t place; /* among all that were run */
	int expected;
	_Atomic int told;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	store_fixture_init(&f->disk);
	sem_init(&f->inside, 0, 0);
	sem_init(&f->go, 0, 0);
	sem_init(&f->all, 0, 0);
	assert_int_equal(store_fixture_open(&f->disk, false), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_fixture_close(&f->disk);
	sem_destroy(&f->all);
	sem_destroy(&f->go);
	sem_destroy(&f->inside);
	store_fixture_fini(&f->disk);
	free(f);
	return 0;
}

/* Counts, and remembers as which; one that expects to fail does. */
static int count_fn(struct store_txn *txn, void *arg)
{
	struct order *order = arg;
	struct slice value;
	uint64_t count = 0;

	if (order->expected < 0)
		return order->expected;
	if (store_get(txn, slice_of("count"), &value) == 0)
		memcpy(&count, value.data, sizeof(count));
	order->place = ++count;
	int rc = store_put(txn, slice_of("count"), (struct slice){ .data = &count, .len = sizeof(count) });
	return rc < 0 ? rc : order->expected;
}

static void order_done(struct store_job *job, int result)
{
	struct order *order = (struct order *)job;
	struct fixture *f = order->fixture;

	if (result != order->expected || atomic_fetch_add(&order->told, 1) != 0)
		f->wrong++;
	atomic_fetch_add(&f->done, 1);
	sem_post(&f->all);
}

static void order_submit(struct fixture *f, struct order *order, int expected)
{
	order->fixture = f;
	order->expected = expected;
	order->told = 0;
	order->job = (struct store_job){ .fn = count_fn, .arg = order, .done = order_done };
	store_submit(f->disk.store, &order->job);
}

static int held_fn(struct store_txn *txn, void *arg)
{
	struct fixture *f = arg;

	sem_post(&f->inside);
	sem_wait(&f->go);
	return store_put(txn, slice_of("held"), slice_of("x"));
}

static void *held_body(void *arg)
{
	struct fixture *f = arg;

	if (store_update(f->disk.store, held_fn, f) != 0)
		f->wrong++;
	return NULL;
}

static void whoever_is_alone_is_done_before_it_returns(void **state)
{
	struct fixture *f = *state;
	struct order order;

	order_submit(f, &order, 3);
	assert_int_equal(f->done, 1);
	assert_int_equal(f->wrong, 0);
	assert_int_equal(order.place, 1);
	order_submit(f, &order, -EPERM);
	assert_int_equal(f->done, 2);
	assert_int_equal(f->wrong, 0);
}

static void those_who_come_during_a_commit_do_not_wait_and_share_the_next(void **state)
{
	struct fixture *f = *state;
	struct order orders[20];
	struct store_stats before;
	struct store_stats after;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, held_body, f), 0);
	sem_wait(&f->inside);
	store_stats(f->disk.store, &before);
	for (size_t i = 0; i < 20; i++)
		order_submit(f, &orders[i], i % 5 == 4 ? -EBUSY : 1);
	assert_int_equal(f->done, 0);
	sem_post(&f->go);
	pthread_join(thread, NULL);
	/* Nobody else came: the thread that led before has done them all. */
	assert_int_equal(f->done, 20);
	assert_int_equal(f->wrong, 0);
	store_stats(f->disk.store, &after);
	assert_int_equal(after.commits - before.commits, 2);
	for (size_t i = 0, place = 0; i < 20; i++)
		if (i % 5 != 4)
			assert_int_equal(orders[i].place, ++place);
}

struct relief {
	struct order order; /* first */
	struct fixture *fixture;
	pthread_t by; /* who ran it */
	_Atomic bool returned;
};

static int relief_fn(struct store_txn *txn, void *arg)
{
	struct relief *relief = arg;

	relief->by = pthread_self();
	return count_fn(txn, &relief->order);
}

static void *relief_body(void *arg)
{
	struct relief *relief = arg;

	relief->order = (struct order){ .fixture = relief->fixture, .expected = 1 };
	relief->order.job = (struct store_job){ .fn = relief_fn, .arg = relief, .done = order_done };
	store_submit(relief->fixture->disk.store, &relief->order.job);
	relief->returned = true;
	return NULL;
}

/* Otherwise it would have to for as long as others come. */
static void whoever_waited_for_its_own_commits_for_others_but_once(void **state)
{
	struct fixture *f = *state;
	struct relief relief = { .fixture = f };
	struct order order = { .fixture = f };
	struct store_stats stats;
	pthread_t updater;
	pthread_t submitter;

	assert_int_equal(pthread_create(&updater, NULL, held_body, f), 0);
	sem_wait(&f->inside);
	order.job = (struct store_job){ .fn = held_fn, .arg = f, .done = order_done };
	store_submit(f->disk.store, &order.job);
	sem_post(&f->go);
	sem_wait(&f->inside);
	assert_int_equal(pthread_create(&submitter, NULL, relief_body, &relief), 0);
	do {
		sched_yield();
		store_stats(f->disk.store, &stats);
	} while (!relief.returned && stats.waiting < 2);
	sem_post(&f->go);
	pthread_join(updater, NULL);
	pthread_join(submitter, NULL);
	assert_int_equal(f->done, 2);
	assert_int_equal(f->wrong, 0);
	assert_true(pthread_equal(relief.by, submitter));
}

static void *mixed_body(void *arg)
{
	struct fixture *f = arg;
	struct order *orders = calloc(ROUNDS, sizeof(*orders));

	for (size_t i = 0; orders != NULL && i < ROUNDS; i++) {
		struct order own = { .fixture = f, .expected = 2 };

		order_submit(f, &orders[i], i % 7 == 6 ? -EAGAIN : 1);
		if (i % 3 == 0 && store_update(f->disk.store, count_fn, &own) != 2)
			f->wrong++;
	}
	/* All of all threads: those of this one are among them. */
	for (size_t i = 0; i < ROUNDS; i++)
		sem_wait(&f->all);
	return orders;
}

static int read_fn(struct store_txn *txn, void *arg)
{
	struct slice value;
	int rc = store_get(txn, slice_of("count"), &value);

	if (rc == 0)
		memcpy(arg, value.data, sizeof(uint64_t));
	return rc;
}

static void each_is_done_once_whoever_commits(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[THREADS];
	void *orders[THREADS];
	uint64_t count = 0;
	uint64_t expected = 0;

	for (size_t i = 0; i < ROUNDS; i++)
		expected += (i % 7 != 6 ? 1U : 0U) + (i % 3 == 0 ? 1U : 0U);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, mixed_body, f), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], &orders[i]);
	for (size_t i = 0; i < THREADS; i++)
		free(orders[i]);
	assert_int_equal(f->wrong, 0);
	assert_int_equal(f->done, THREADS * ROUNDS);
	assert_int_equal(store_view(f->disk.store, read_fn, &count), 0);
	assert_int_equal(count, THREADS * expected);
}

/* What is done with an answer may be another update. */
static void again_done(struct store_job *job, int result)
{
	struct order *order = (struct order *)job;
	struct order more = { .expected = 1 };

	if (store_update(order->fixture->disk.store, count_fn, &more) != 1)
		order->fixture->wrong++;
	order_done(job, result);
}

static void done_may_use_the_store(void **state)
{
	struct fixture *f = *state;
	struct order order = { .fixture = f, .expected = 1 };
	uint64_t count = 0;

	order.job = (struct store_job){ .fn = count_fn, .arg = &order, .done = again_done };
	store_submit(f->disk.store, &order.job);
	assert_int_equal(f->done, 1);
	assert_int_equal(f->wrong, 0);
	assert_int_equal(store_view(f->disk.store, read_fn, &count), 0);
	assert_int_equal(count, 2);
}

static int nested_fn(struct store_txn *txn, void *arg)
{
	struct fixture *f = arg;
	struct order order;

	(void)txn;
	order_submit(f, &order, -EDEADLK);
	return 0;
}

static void within_a_transaction_it_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(store_update(f->disk.store, nested_fn, f), 0);
	assert_int_equal(f->done, 1);
	assert_int_equal(f->wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whoever_is_alone_is_done_before_it_returns, setup, teardown),
		cmocka_unit_test_setup_teardown(those_who_come_during_a_commit_do_not_wait_and_share_the_next, setup,
						teardown),
		cmocka_unit_test_setup_teardown(whoever_waited_for_its_own_commits_for_others_but_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(each_is_done_once_whoever_commits, setup, teardown),
		cmocka_unit_test_setup_teardown(done_may_use_the_store, setup, teardown),
		cmocka_unit_test_setup_teardown(within_a_transaction_it_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
