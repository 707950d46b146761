/*
 * Threads of three hosts on one realm, with lost answers: every update is applied once, and takes part in a history that all hosts agree on.
 */
#include "mem_realm.h"
#include "remote_bytes.h"
#include "remote_engine.h"
#include "scratch.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS 3
#define THREADS 4
#define UPDATES 100

struct host {
	char *dir;
	struct mem_line_faults faults;
	struct engine *engine;
};

static struct mem_realm *realm;
static struct host hosts[HOSTS];
static _Atomic unsigned int changes;

static void lose_some(void *arg)
{
	struct mem_line_faults *faults = arg;

	if (faults->commits % 17 == 5)
		faults->lose_reply_in = 1;
	else if (faults->commits % 23 == 7)
		faults->lose_request_in = 1;
	faults->commits++;
}

static void changed(void *arg, struct slice key)
{
	(void)arg, (void)key;
	changes++;
}

/* Adds one to a counter. */
static int add_fn(struct store_txn *txn, void *arg)
{
	unsigned char bytes[8];
	struct slice value;
	uint64_t count = 0;
	int rc = store_get(txn, slice_of(arg), &value);

	if (rc < 0)
		return rc;
	if (rc == 0)
		(void)bytes_take(&value, 8, &count);
	(void)bytes_put(bytes, count + 1, sizeof(bytes));
	return store_put(txn, slice_of(arg), (struct slice){ .data = bytes, .len = sizeof(bytes) });
}

struct worker {
	pthread_t thread;
	struct engine *engine;
	char own[8]; /* a counter of this host's */
	unsigned int given_up;
	int error;
};

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < UPDATES && worker->error == 0; i++) {
		/* One that every host writes, and one that only this host's threads do. */
		char *key = i % 10 == 0 ? "all" : worker->own;
		int rc = remote_update(worker->engine, add_fn, key);

		worker->given_up += rc == -EAGAIN && i % 10 == 0;
		worker->error = rc < 0 && rc != -EAGAIN ? rc : 0;
		if (rc == -EAGAIN && i % 10 != 0)
			worker->error = rc;
	}
	return NULL;
}

static int count_fn(struct store_txn *txn, void *arg)
{
	uint64_t *count = arg;
	char key[8] = "all";
	struct slice value;

	*count = 0;
	for (int i = -1; i < HOSTS; i++) {
		uint64_t one = 0;

		if (i >= 0)
			(void)snprintf(key, sizeof(key), "own%d", i);
		int rc = store_get(txn, slice_of(key), &value);
		if (rc != 0)
			return rc < 0 ? rc : -ENOENT;
		(void)bytes_take(&value, 8, &one);
		*count += one;
	}
	return 0;
}

static void every_update_is_applied_once(void **state)
{
	struct worker workers[HOSTS * THREADS];
	unsigned int given_up = 0;

	(void)state;
	for (int i = 0; i < HOSTS * THREADS; i++) {
		workers[i] = (struct worker){ .engine = hosts[i % HOSTS].engine };
		(void)snprintf(workers[i].own, sizeof(workers[i].own), "own%d", i % HOSTS);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < HOSTS * THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].error, 0);
		given_up += workers[i].given_up;
	}
	for (int i = 0; i < HOSTS; i++) {
		uint64_t count;

		assert_int_equal(remote_view(hosts[i].engine, count_fn, &count), 0);
		assert_int_equal(count + given_up, HOSTS * THREADS * UPDATES);
	}
	assert_true(changes > 0);
}

static int group_setup(void **state)
{
	const struct store_options options = { .sync = STORE_SYNC_OFF };
	char why[256];

	(void)state;
	realm = mem_realm_new();
	mem_realm_create(realm);
	for (int i = 0; i < HOSTS; i++) {
		struct host *host = &hosts[i];

		host->dir = scratch_new();
		const struct remote_options remote = {
			.cache = host->dir,
			.host = "host",
			.host_timeout = 60000,
			.timeout = 20000,
			.threads = true,
			.changed = changed,
		};
		if (remote_open(&host->engine, mem_realm_adapter(realm, &host->faults), &remote, &options, why,
				sizeof(why)) != 0)
			fail_msg("%s", why);
		host->faults.before_arg = &host->faults;
		host->faults.before_commit = lose_some;
	}
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	for (int i = 0; i < HOSTS; i++) {
		remote_close(hosts[i].engine);
		scratch_remove(hosts[i].dir);
	}
	mem_realm_free(realm);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_update_is_applied_once),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
