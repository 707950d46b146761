/*
 * Hosts on a real Redis: the scripts do what a realm must, and whatever the server does, calls end in bounded time and no lock is granted twice.
 */
#include "redis_fixture.h"
#include "redis_server.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct redis_server server;

static int setup(void **state)
{
	struct redis_fixture *f = redis_fixture_new();

	redis_server_start(&server, "secret");
	f->address = redis_server_address(&server, "test");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	redis_fixture_free(*state);
	redis_server_stop(&server);
	return 0;
}

static void a_realm_is_made_once_and_by_request(void **state)
{
	struct redis_fixture *f = *state;

	assert_int_equal(host_open(f, A, true), -ENOENT);
	realm_make(f, 0);
	realm_make(f, -EEXIST);
	assert_int_equal(host_open(f, A, true), 0);
}

static void a_wrong_password_is_told(void **state)
{
	struct redis_fixture *f = *state;

	realm_make(f, 0);
	(void)snprintf(f->address.password, sizeof(f->address.password), "wrong");
	assert_int_equal(host_open(f, A, true), -EACCES);
}

/* What docs/REMOTE.md tells operators to allow. */
#define RIGHTS                                                                                    \
	"ACL SETUSER %s on >pass resetkeys ~atlantis:enhanced:{test}:* +info +script|load +eval " \
	"+evalsha +hmget +hset +hdel +hscan +xadd +xrange +xread +time"

static void the_documented_rights_are_enough_and_needed(void **state)
{
	static const char *const needed[] = { "evalsha", "hset", "hdel", "hscan", "xadd", "xrange", "xread", "time" };
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	realm_make(f, 0);
	redis_server_tell(&server, RIGHTS, "bob");
	(void)snprintf(f->address.user, sizeof(f->address.user), "bob");
	(void)snprintf(f->address.password, sizeof(f->address.password), "pass");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		redis_server_tell(&server, "ACL SETUSER bob -%s", needed[i]);
		if (host_open(f, A, true) != -EACCES)
			fail_msg("without %s: %s", needed[i], f->realm.why);
		redis_server_tell(&server, "ACL SETUSER bob +%s", needed[i]);
	}
	assert_int_equal(host_open(f, A, true), 0);
	assert_int_equal(lock_take(&f->realm, A, &a), 0);
	assert_int_equal(lock_drop(&f->realm, A, &a), 0);
}

static void hosts_share_locks(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	struct lock_call b = { .lock = "l1" };

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &a), 0);
	assert_int_equal(lock_token(&f->realm, B, "l1"), a.token);
	assert_int_equal(lock_take(&f->realm, B, &b), -EBUSY);
	assert_int_equal(lock_drop(&f->realm, A, &a), 0);
	assert_int_equal(lock_take(&f->realm, B, &b), 0);
	assert_true(b.token > a.token);
	assert_int_equal(lock_token(&f->realm, A, "l1"), b.token);
}

#define THREADS 4
#define ROUNDS 50

struct worker {
	pthread_t thread;
	struct redis_fixture *f;
	int host;
	int error;
};

/* Takes and drops locks that the threads of both hosts want. */
static void *work(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < ROUNDS && worker->error == 0; i++) {
		struct lock_call call = { .lock = i % 2 == 0 ? "l1" : "l2" };
		int rc;

		while ((rc = lock_take(&worker->f->realm, worker->host, &call)) == -EBUSY || rc == -EAGAIN)
			;
		if (rc == 0)
			while ((rc = lock_drop(&worker->f->realm, worker->host, &call)) == -EAGAIN)
				;
		worker->error = rc;
	}
	return NULL;
}

static void threads_of_both_hosts_take_turns(void **state)
{
	struct redis_fixture *f = *state;
	struct worker workers[2 * THREADS];

	realm_join(f);
	for (int i = 0; i < 2 * THREADS; i++) {
		workers[i] = (struct worker){ .f = f, .host = i % 2 };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < 2 * THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].error, 0);
	}
	assert_int_equal(lock_token(&f->realm, A, "l1"), 0);
	assert_int_equal(lock_token(&f->realm, B, "l2"), 0);
}

static void a_restart_keeps_locks_and_order(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	struct lock_call b = { .lock = "l1" };

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &a), 0);
	redis_server_restart(&server);
	struct lock_call other = { .lock = "l2" };
	take_in_the_end(f, B, &other);
	assert_int_equal(lock_token(&f->realm, B, "l1"), a.token);
	assert_int_equal(lock_take(&f->realm, B, &b), -EBUSY);
	assert_int_equal(lock_drop(&f->realm, A, &a), 0);
	assert_int_equal(lock_take(&f->realm, B, &b), 0);
	assert_true(b.token > a.token);
}

static void scripts_that_are_gone_are_loaded_again(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	realm_join(f);
	redis_server_tell(&server, "SCRIPT FLUSH");
	assert_int_equal(lock_take(&f->realm, A, &a), 0);
	assert_int_equal(lock_token(&f->realm, B, "l1"), a.token);
}

static void an_emptied_server_grants_nothing(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	realm_join(f);
	redis_server_tell(&server, "FLUSHALL");
	assert_true(lock_take(&f->realm, A, &a) < 0);
	realm_make(f, 0);
	assert_int_equal(lock_take(&f->realm, B, &a), -EHOSTDOWN);
}

static void a_stopped_server_ends_calls_and_settles_them(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	struct lock_call other = { .lock = "l2" };

	realm_join(f);
	assert_int_equal(kill(server.pid, SIGSTOP), 0);
	time_t begun = seconds();
	assert_int_equal(lock_take(&f->realm, A, &a), -EIO);
	assert_true(seconds() - begun <= CALL_MAX);
	assert_int_equal(kill(server.pid, SIGCONT), 0);
	take_in_the_end(f, A, &other);
	/* Whatever became of the call, it is over: nothing changes by itself any more. */
	uint64_t token = lock_token(&f->realm, B, "l1");
	assert_true(token == 0 || token == a.token);
	assert_int_equal(lock_token(&f->realm, A, "l1"), token);
}

static void a_full_server_lets_releases_through(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	struct lock_call b = { .lock = "l2" };

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &a), 0);
	redis_server_tell(&server, "CONFIG SET maxmemory 1");
	assert_int_equal(lock_take(&f->realm, A, &b), -ENOSPC);
	assert_int_equal(lock_take(&f->realm, B, &b), -ENOSPC);
	/* Reads and heartbeats go on: the hosts stay alive for each other. */
	assert_int_equal(lock_token(&f->realm, B, "l1"), a.token);
	(void)sleep(4);
	assert_int_equal(lock_drop(&f->realm, A, &a), 0);
	assert_int_equal(lock_token(&f->realm, B, "l1"), 0);
	assert_int_equal(lock_take(&f->realm, A, &a), -ENOSPC);
	redis_server_tell(&server, "CONFIG SET maxmemory 0");
	assert_int_equal(lock_take(&f->realm, B, &a), 0);
	assert_int_equal(remote_incarnation(f->realm.hosts[A].engine), 1);
	assert_int_equal(remote_incarnation(f->realm.hosts[B].engine), 1);
}

/* A batch in which one part takes memory and another gives some back. */
static void *drop_thread(void *arg)
{
	struct worker *worker = arg;
	struct lock_call call = { .lock = "l1", .token = lock_token(&worker->f->realm, worker->host, "l1") };

	worker->error = lock_drop(&worker->f->realm, worker->host, &call);
	return NULL;
}

static void *take_thread(void *arg)
{
	struct worker *worker = arg;
	struct lock_call call = { .lock = "l2" };

	worker->error = lock_take(&worker->f->realm, worker->host, &call);
	return NULL;
}

static void a_full_server_tells_releases_from_takes_in_a_batch(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	realm_join(f);
	for (int i = 0; i < 10; i++) {
		struct worker takes = { .f = f, .host = A };
		struct worker drops = { .f = f, .host = A };

		assert_int_equal(lock_take(&f->realm, A, &a), 0);
		redis_server_tell(&server, "CONFIG SET maxmemory 1");
		assert_int_equal(pthread_create(&takes.thread, NULL, take_thread, &takes), 0);
		assert_int_equal(pthread_create(&drops.thread, NULL, drop_thread, &drops), 0);
		pthread_join(takes.thread, NULL);
		pthread_join(drops.thread, NULL);
		assert_int_equal(takes.error, -ENOSPC);
		assert_int_equal(drops.error, 0);
		redis_server_tell(&server, "CONFIG SET maxmemory 0");
	}
}

static void a_demoted_server_refuses(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &a), 0);
	redis_server_tell(&server, "REPLICAOF 127.0.0.1 1");
	struct lock_call b = { .lock = "l2" };
	assert_int_equal(lock_take(&f->realm, B, &b), -EHOSTDOWN);
	/* A server that may not write is not believed about what it has, either. */
	assert_int_equal(lock_take(&f->realm, B, &a), -EHOSTDOWN);
}

static void a_trimmed_stream_is_a_resync(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	realm_make(f, 0);
	assert_int_equal(host_open(f, A, false), 0);
	assert_int_equal(host_open(f, B, false), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(lock_take(&f->realm, A, &a), 0);
		if (i < 19)
			assert_int_equal(lock_drop(&f->realm, A, &a), 0);
	}
	redis_server_tell(&server, "XTRIM atlantis:enhanced:{test}:l MAXLEN 1");
	assert_int_equal(lock_token(&f->realm, B, "l1"), a.token);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_realm_is_made_once_and_by_request),
		CASE(a_wrong_password_is_told),
		CASE(the_documented_rights_are_enough_and_needed),
		CASE(hosts_share_locks),
		CASE(threads_of_both_hosts_take_turns),
		CASE(a_restart_keeps_locks_and_order),
		CASE(scripts_that_are_gone_are_loaded_again),
		CASE(an_emptied_server_grants_nothing),
		CASE(a_stopped_server_ends_calls_and_settles_them),
		CASE(a_full_server_lets_releases_through),
		CASE(a_full_server_tells_releases_from_takes_in_a_batch),
		CASE(a_demoted_server_refuses),
		CASE(a_trimmed_stream_is_a_resync),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
