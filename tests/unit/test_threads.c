/*
 * Many threads on few locks: one holder at most, everybody told exactly once, nobody lost. Also run with the thread
 * sanitizer.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCKS 3
#define THREADS 16
#define CANCELLERS 8
#define ROUNDS 60

/* What all threads share. Failures are counted, since only the main thread may assert. */
struct arena {
	struct atlock *al;
	struct atlock_name names[LOCKS];
	_Atomic unsigned int inside[LOCKS]; /* who thinks to hold it */
	_Atomic uint64_t token[LOCKS];      /* of the last holder */
	_Atomic unsigned int broken;        /* times something was not as it must be */
	_Atomic unsigned int granted;
	_Atomic unsigned int given_up;
};

struct worker {
	struct arena *arena;
	pthread_t thread;
	uint32_t random;
	struct atlock_caller caller;
	struct told *told; /* one for each round */
};

static void expect(struct arena *arena, bool good)
{
	if (!good)
		atomic_fetch_add(&arena->broken, 1);
}

static uint32_t worker_random(struct worker *worker)
{
	worker->random = worker->random * 1664525 + 1013904223;
	return worker->random >> 16;
}

/* What a lock protects: nobody else is inside, and tokens only grow. */
static void hold_and_release(struct worker *worker, size_t lock, uint64_t token)
{
	struct arena *arena = worker->arena;
	struct atlock_request req = { .name = &arena->names[lock], .caller = &worker->caller };

	expect(arena, atomic_fetch_add(&arena->inside[lock], 1) == 0);
	expect(arena, atomic_exchange(&arena->token[lock], token) < token);
	atomic_fetch_add(&arena->granted, 1);
	atomic_fetch_sub(&arena->inside[lock], 1);
	expect(arena, atlock_release(arena->al, &req, NULL, NULL) == 0);
}

static int worker_told(struct told *told)
{
	pthread_mutex_lock(&told->mutex);
	while (told->times == 0)
		pthread_cond_wait(&told->cond, &told->mutex);
	int err = told->err;
	pthread_mutex_unlock(&told->mutex);
	return err;
}

static void *exclude_main(void *arg)
{
	struct worker *worker = arg;
	struct arena *arena = worker->arena;

	for (size_t i = 0; i < ROUNDS; i++) {
		size_t lock = worker_random(worker) % LOCKS;
		struct atlock_request req = {
			.name = &arena->names[lock],
			.caller = &worker->caller,
			.priority = (enum atlock_priority)(worker_random(worker) % ATLOCK_PRIORITIES),
			.timeout = ATLOCK_NEVER,
		};
		struct atlock_grant grant = { .token = 0 };
		int rc;

		if (worker_random(worker) % 4 == 0) {
			rc = atlock_acquire(arena->al, &req, &grant, NULL);
			expect(arena, rc == 0 || rc == -EBUSY || rc == -EACCES);
		} else {
			rc = atlock_wait(arena->al, &req, told_done, &worker->told[i], NULL, &grant, NULL);
			expect(arena, rc == 0 || rc == 1);
			if (rc == 1) {
				rc = worker_told(&worker->told[i]);
				grant = worker->told[i].grant;
				expect(arena, rc == 0);
			}
		}
		if (rc == 0)
			hold_and_release(worker, lock, grant.token);
	}
	return NULL;
}

/* Gives up about every other wait, at any moment: it must then either never be told, or be told and hold the lock. */
static void *cancel_main(void *arg)
{
	struct worker *worker = arg;
	struct arena *arena = worker->arena;

	for (size_t i = 0; i < ROUNDS; i++) {
		struct atlock_request req = {
			.name = &arena->names[0],
			.caller = &worker->caller,
			.priority = ATLOCK_NORMAL,
			.timeout = ATLOCK_NEVER,
		};
		struct atlock_grant grant = { .token = 0 };
		uint64_t wait = 0;
		int rc = atlock_wait(arena->al, &req, told_done, &worker->told[i], &wait, &grant, NULL);

		expect(arena, rc == 0 || rc == 1);
		if (rc == 1 && worker_random(worker) % 2 == 0) {
			rc = atlock_wait_cancel(arena->al, wait);
			expect(arena, rc == 0 || rc == 1);
			if (rc == 0) {
				atomic_fetch_add(&arena->given_up, 1);
				continue;
			}
		}
		if (rc == 1) {
			rc = worker_told(&worker->told[i]);
			grant = worker->told[i].grant;
		}
		expect(arena, rc == 0);
		hold_and_release(worker, 0, grant.token);
	}
	return NULL;
}

static void workers_run(struct stage *s, struct arena *arena, size_t count, void *(*fn)(void *))
{
	struct worker workers[THREADS];
	char as[16];

	for (size_t i = 0; i < LOCKS; i++) {
		char name[] = { 'g', 'l', 'o', 'b', 'a', 'l', '/', (char)('a' + i), '\0' };

		arena->names[i] = stage_name(name);
	}
	arena->al = s->al;
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(as, sizeof(as), "%s@%zu", i % 2 == 0 ? "alice" : "bob", i);
		workers[i] = (struct worker){ .arena = arena, .random = (uint32_t)i + 1, .caller = stage_caller(as) };
		workers[i].told = calloc(ROUNDS, sizeof(struct told));
		assert_non_null(workers[i].told);
		for (size_t k = 0; k < ROUNDS; k++) {
			pthread_mutex_init(&workers[i].told[k].mutex, NULL);
			pthread_cond_init(&workers[i].told[k].cond, NULL);
		}
	}
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pthread_create(&workers[i].thread, NULL, fn, &workers[i]), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < ROUNDS; k++)
			assert_true(workers[i].told[k].times <= 1);
		free(workers[i].told);
	}
}

static void nothing_is_left(struct stage *s)
{
	struct atlock_status status;

	assert_int_equal(atlock_status(s->al, &status), 0);
	assert_int_equal(status.held, 0);
	assert_int_equal(status.waiting, 0);
}

static void one_thread_at_a_time_has_a_lock(void **state)
{
	struct stage *s = *state;
	struct arena arena = { .broken = 0 };

	workers_run(s, &arena, THREADS, exclude_main);
	assert_int_equal(arena.broken, 0);
	assert_true(arena.granted >= THREADS * ROUNDS / 2);
	nothing_is_left(s);
}

static void wait_that_is_given_up_while_being_granted_is_one_or_the_other(void **state)
{
	struct stage *s = *state;
	struct arena arena = { .broken = 0 };

	workers_run(s, &arena, CANCELLERS, cancel_main);
	assert_int_equal(arena.broken, 0);
	assert_int_equal(arena.granted + arena.given_up, CANCELLERS * ROUNDS);
	nothing_is_left(s);
}

struct reader {
	pthread_t thread;
	struct atlock *al;
	_Atomic bool stop;
	_Atomic unsigned int failures;
	uint64_t looks;
};

static int count_view(void *arg, const struct atlock_view *view)
{
	unsigned int *count = arg;

	(*count)++;
	return view->token == 0;
}

/* Every state it sees is a consistent one. */
static void *reader_main(void *arg)
{
	struct reader *reader = arg;

	while (!atomic_load(&reader->stop)) {
		struct atlock_query query = { .prefix = "global/" };
		unsigned int count = 0;

		if (atlock_list(reader->al, &query, count_view, &count) != 0 || count > LOCKS ||
		    atlock_check(reader->al, NULL) != 0)
			atomic_fetch_add(&reader->failures, 1);
		reader->looks++;
	}
	return NULL;
}

static void readers_see_consistent_states_meanwhile(void **state)
{
	struct stage *s = *state;
	struct arena arena = { .broken = 0 };
	struct reader reader = { .al = s->al };

	assert_int_equal(pthread_create(&reader.thread, NULL, reader_main, &reader), 0);
	workers_run(s, &arena, CANCELLERS, exclude_main);
	atomic_store(&reader.stop, true);
	assert_int_equal(pthread_join(reader.thread, NULL), 0);
	assert_int_equal(arena.broken, 0);
	assert_int_equal(reader.failures, 0);
	assert_true(reader.looks > 0);
}

/* A callback may call back in, from whichever thread it runs on: here each grant releases at once, down the whole queue. */
struct chain {
	struct atlock *al;
	struct atlock_name name;
	struct atlock_caller caller;
	unsigned int times;
	int err;
};

static bool chain_done(void *arg, int err, const struct atlock_grant *grant, const struct atlock_why *why)
{
	struct chain *chain = arg;
	struct atlock_request req = { .name = &chain->name, .caller = &chain->caller };

	(void)why;
	chain->times++;
	chain->err = err;
	if (grant != NULL)
		chain->err = atlock_release(chain->al, &req, NULL, NULL);
	return true;
}

static void callback_may_call_back_in(void **state)
{
	struct stage *s = *state;
	struct chain chains[50];
	char as[16];

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 600), 0);
	for (size_t i = 0; i < 50; i++) {
		(void)snprintf(as, sizeof(as), "bob@%zu", i);
		struct atlock_request *req = stage_ask(s, "global/a", as);

		chains[i] = (struct chain){ .al = s->al, .name = *req->name, .caller = *req->caller };
		assert_int_equal(atlock_wait(s->al, req, chain_done, &chains[i], NULL, NULL, &s->why), 1);
	}
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	for (size_t i = 0; i < 50; i++) {
		assert_int_equal(chains[i].times, 1);
		assert_int_equal(chains[i].err, 0);
	}
	nothing_is_left(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED_LIVE(one_thread_at_a_time_has_a_lock),
		STAGED_LIVE(wait_that_is_given_up_while_being_granted_is_one_or_the_other),
		STAGED_LIVE(readers_see_consistent_states_meanwhile),
		STAGED_LIVE(callback_may_call_back_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
