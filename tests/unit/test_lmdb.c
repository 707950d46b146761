/*
 * The LMDB engine: what survives, who may open it, and what it refuses to open.
 */
#include "child.h"
#include "scratch.h"
#include "store.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char *scratch;
	char dir[128]; /* not there yet */
	char why[512];
	struct store *store;
	int told;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->scratch = scratch_new();
	(void)snprintf(f->dir, sizeof(f->dir), "%s/deep/store", f->scratch);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->store);
	scratch_remove(f->scratch);
	free(f);
	return 0;
}

static int open_with(struct fixture *f, const struct store_options *options)
{
	f->why[0] = 0;
	return store_open(&f->store, f->dir, options, f->why, sizeof(f->why));
}

static void reopen(struct fixture *f)
{
	store_close(f->store);
	assert_int_equal(open_with(f, NULL), 0);
}

struct pair {
	const char *key;
	const char *value;
};

static int put_fn(struct store_txn *txn, void *arg)
{
	const struct pair *pair = arg;

	return store_put(txn, slice_of(pair->key), slice_of(pair->value));
}

static int equal_fn(struct store_txn *txn, void *arg)
{
	const struct pair *pair = arg;
	struct slice value;

	if (store_get(txn, slice_of(pair->key), &value) != 0)
		return 1;
	return value.len == strlen(pair->value) && memcmp(value.data, pair->value, value.len) == 0 ? 0 : 2;
}

static void put(struct store *store, const char *key, const char *value)
{
	assert_int_equal(store_update(store, put_fn, &(struct pair){ key, value }), 0);
}

static void assert_has(struct store *store, const char *key, const char *value)
{
	assert_int_equal(store_view(store, equal_fn, &(struct pair){ key, value }), 0);
}

static void a_missing_directory_is_made_and_what_is_written_stays(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(open_with(f, NULL), 0);
	assert_int_equal(stat(f->dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	put(f->store, "a", "1");
	put(f->store, "b", "2");
	reopen(f);
	assert_has(f->store, "a", "1");
	assert_has(f->store, "b", "2");
	assert_true(store_durable(f->store));
	assert_false(store_shared(f->store));
}

static int scan_fn(struct store_txn *txn, void *arg)
{
	unsigned char from[STORE_KEY_MAX + 1];
	struct slice at = { .data = from, .len = 0 };
	struct slice key;
	struct slice value;
	int n = 0;

	(void)arg;
	while (store_next(txn, at, slice_of("k"), &key, &value) == 0) {
		assert_int_equal(key.len, 6);
		assert_memory_equal(key.data, value.data, 6);
		assert_true(at.len == 0 || memcmp(from, key.data, 6) < 0);
		memcpy(from, key.data, key.len);
		from[key.len] = 0;
		at.len = key.len + 1;
		n++;
	}
	return n;
}

static int thousand_fn(struct store_txn *txn, void *arg)
{
	char key[8];

	(void)arg;
	for (unsigned int i = 0; i < 1000; i++) {
		(void)snprintf(key, sizeof(key), "k%05u", (i * 7919) % 1000);
		assert_int_equal(store_put(txn, slice_of(key), slice_of(key)), 0);
	}
	assert_int_equal(store_put(txn, slice_of("j"), slice_of("before")), 0);
	assert_int_equal(store_put(txn, slice_of("l"), slice_of("after")), 0);
	return 0;
}

static void scans_run_in_key_order_in_views_and_updates(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_with(f, NULL), 0);
	assert_int_equal(store_update(f->store, thousand_fn, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_view(f->store, scan_fn, NULL), 1000);
		assert_int_equal(store_update(f->store, scan_fn, NULL), 1000);
	}
}

static int longest_fn(struct store_txn *txn, void *arg)
{
	static unsigned char bytes[STORE_VALUE_MAX];
	unsigned char after[STORE_KEY_MAX + 1] = { 0 };
	struct slice longest = { .data = bytes, .len = STORE_KEY_MAX };
	struct slice beyond = { .data = after, .len = sizeof(after) };
	struct slice none = { .len = 0 };
	struct slice value;

	if (*(bool *)arg)
		return store_put(txn, longest, (struct slice){ .data = bytes, .len = sizeof(bytes) });
	assert_int_equal(store_get(txn, longest, &value), 0);
	assert_int_equal(value.len, STORE_VALUE_MAX);
	assert_int_equal(store_next(txn, beyond, none, &value, NULL), 1);
	return 0;
}

static void the_longest_key_and_value_fit(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_with(f, NULL), 0);
	assert_int_equal(store_update(f->store, longest_fn, &(bool){ true }), 0);
	reopen(f);
	assert_int_equal(store_view(f->store, longest_fn, &(bool){ false }), 0);
}

static int refuse_fn(struct store_txn *txn, void *arg)
{
	static const char bytes[4096];

	(void)arg;
	assert_int_equal(store_put(txn, slice_of("refused"), (struct slice){ bytes, sizeof(bytes) }), 0);
	return -EBUSY;
}

/* What it wrote is where commits are kept, until one of LMDB's; and a lock may be asked for in vain for long. */
static void a_function_that_fails_leaves_nothing_in_memory(void **state)
{
	struct fixture *f = *state;
	size_t before;

	assert_int_equal(open_with(f, NULL), 0);
	put(f->store, "a", "1");
	before = mallinfo2().uordblks;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(store_update(f->store, refuse_fn, NULL), -EBUSY);
	assert_true(mallinfo2().uordblks <= before + 64 * (size_t)1024);
	assert_int_equal(store_view(f->store, equal_fn, &(struct pair){ "refused", "" }), 1);
	assert_has(f->store, "a", "1");
}

static int sync_fn(struct store_txn *txn, void *arg)
{
	store_txn_sync(txn);
	return put_fn(txn, arg);
}

static void without_sync_one_transaction_can_still_ask_for_it(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_with(f, &(struct store_options){ .sync = STORE_SYNC_OFF }), 0);
	assert_false(store_durable(f->store));
	put(f->store, "a", "1");
	assert_int_equal(store_update(f->store, sync_fn, &(struct pair){ "b", "2" }), 0);
	reopen(f);
	assert_has(f->store, "a", "1");
	assert_has(f->store, "b", "2");
}

static void child_opens(int tell, void *arg)
{
	struct fixture *f = arg;

	(void)tell;
	if (open_with(f, NULL) != 0)
		_exit(1);
	put(f->store, "a", "1");
}

static void a_second_process_is_told_who_has_it(void **state)
{
	struct fixture *f = *state;
	struct child child = child_start(child_opens, f);
	char pid[32];

	assert_int_equal(open_with(f, NULL), -EBUSY);
	(void)snprintf(pid, sizeof(pid), "process %ld (test_lmdb)", (long)child.pid);
	assert_non_null(strstr(f->why, pid));
	assert_non_null(strstr(f->why, f->dir));
	child_wait(&child);
	assert_int_equal(open_with(f, NULL), 0);
	assert_has(f->store, "a", "1");
}

static void a_second_open_in_one_process_is_refused(void **state)
{
	struct fixture *f = *state;
	struct store_options readonly = { .readonly = true };
	struct store *other;

	assert_int_equal(open_with(f, NULL), 0);
	assert_int_equal(store_open(&other, f->dir, NULL, f->why, sizeof(f->why)), -EBUSY);
	assert_int_equal(store_open(&other, f->dir, &readonly, f->why, sizeof(f->why)), -EBUSY);
	put(f->store, "a", "1");
	assert_has(f->store, "a", "1");
}

/* Grows the store beyond the map it began with each time the parent asks. */
static void *grow_on_request(void *arg)
{
	static char big[STORE_VALUE_MAX];
	struct fixture *f = arg;
	char byte;

	memset(big, 'x', sizeof(big) - 1);
	while (read(f->told, &byte, 1) == 1) {
		for (char key[] = "k0"; key[1] <= '9'; key[1]++)
			(void)store_update(f->store, put_fn, &(struct pair){ key, big });
		for (char key[] = "l0"; key[1] <= '9'; key[1]++)
			(void)store_update(f->store, put_fn, &(struct pair){ key, big });
		if (write(f->told, &byte, 1) != 1)
			break;
	}
	return NULL;
}

static void child_grows(int tell, void *arg)
{
	pthread_t thread;

	child_opens(tell, arg);
	if (pthread_create(&thread, NULL, grow_on_request, arg) != 0)
		_exit(1);
}

static int count_fn(struct store_txn *txn, void *arg)
{
	struct slice key;
	struct slice value;
	int n = 0;

	for (char from[] = "k"; n < 100 && store_next(txn, slice_of(from), slice_of(from), &key, &value) == 0;
	     from[0]++)
		n++;
	(void)arg;
	return n;
}

static void a_readonly_store_sees_what_another_process_writes(void **state)
{
	struct fixture *f = *state;
	struct store_options readonly = { .readonly = true };
	int pipes[2];
	char byte = 0;

	assert_int_equal(open_with(f, &readonly), -ENOENT);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pipes), 0);
	f->told = pipes[1];
	struct child child = child_start(child_grows, f);
	assert_int_equal(open_with(f, &readonly), 0);
	assert_has(f->store, "a", "1");
	assert_int_equal(store_update(f->store, put_fn, &(struct pair){ "a", "2" }), -EROFS);
	assert_int_equal(write(pipes[0], &byte, 1), 1);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_int_equal(store_view(f->store, count_fn, NULL), 2);
	child_wait(&child);
	close(pipes[0]);
	close(pipes[1]);
}

static void *write_forever(void *arg)
{
	struct fixture *f = arg;
	char value[16];

	for (unsigned int i = 1;; i++) {
		(void)snprintf(value, sizeof(value), "%010u", i);
		if (store_update(f->store, put_fn, &(struct pair){ "counter", value }) != 0 ||
		    write(f->told, &i, sizeof(i)) < 0)
			_exit(1);
	}
}

static void child_writes(int tell, void *arg)
{
	struct fixture *f = arg;
	pthread_t thread;

	child_opens(tell, arg);
	f->told = tell;
	if (pthread_create(&thread, NULL, write_forever, arg) != 0)
		_exit(1);
}

static int counter_fn(struct store_txn *txn, void *arg)
{
	struct slice value;

	(void)arg;
	assert_int_equal(store_get(txn, slice_of("counter"), &value), 0);
	return atoi(value.data);
}

static void what_a_killed_writer_was_told_is_there(void **state)
{
	struct fixture *f = *state;
	struct child child = child_start(child_writes, f);
	unsigned int told = 0;

	for (int i = 0; i < 100; i++)
		assert_int_equal(read(child.told, &told, sizeof(told)), sizeof(told));
	child_kill(&child);
	while (read(child.told, &told, sizeof(told)) == sizeof(told))
		;
	child_wait(&child);
	assert_int_equal(open_with(f, NULL), 0);
	assert_in_range(store_view(f->store, counter_fn, NULL), told, told + 1);
	put(f->store, "after", "1");
}

static void a_forked_child_cannot_use_it(void **state)
{
	struct fixture *f = *state;
	int status;

	assert_int_equal(open_with(f, NULL), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int update = store_update(f->store, put_fn, &(struct pair){ "a", "1" });
		_exit(update == -EINVAL && store_view(f->store, counter_fn, NULL) == -EINVAL ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	put(f->store, "a", "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_missing_directory_is_made_and_what_is_written_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(scans_run_in_key_order_in_views_and_updates, setup, teardown),
		cmocka_unit_test_setup_teardown(the_longest_key_and_value_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(a_function_that_fails_leaves_nothing_in_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(without_sync_one_transaction_can_still_ask_for_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_second_process_is_told_who_has_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_second_open_in_one_process_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_readonly_store_sees_what_another_process_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_killed_writer_was_told_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(a_forked_child_cannot_use_it, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
