/*
 * What a Redis does when it fails, row by row: calls end in bounded time with an errno that says which, and afterwards both hosts agree.
 */
#include "redis_fixture.h"
#include "redis_server.h"
#include "scratch.h"
#include "store_realm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct redis_server server;

static int setup(void **state)
{
	struct redis_fixture *f = redis_fixture_new();

	redis_server_start(&server, NULL);
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

static redisContext *script; /* a connection whose answer is not waited for */

static void is_down(void)
{
	redis_server_kill(&server);
}

static void is_back(void)
{
	redis_server_restart(&server);
}

static void lacks_replicas(void)
{
	redis_server_tell(&server, "CONFIG SET min-replicas-to-write 1");
}

static void lacks_none(void)
{
	redis_server_tell(&server, "CONFIG SET min-replicas-to-write 0");
}

static void is_demoted(void)
{
	redis_server_tell(&server, "REPLICAOF 127.0.0.1 1");
}

static void is_promoted(void)
{
	redis_server_tell(&server, "REPLICAOF NO ONE");
}

static void is_busy(void)
{
	redis_server_tell(&server, "CONFIG SET busy-reply-threshold 50");
	script = redisConnect("127.0.0.1", server.uri.port);
	assert_int_equal(redisAppendCommand(script, "EVAL %s 0", "while true do end"), REDIS_OK);
	int done = 0;
	while (done == 0)
		assert_int_equal(redisBufferWrite(script, &done), REDIS_OK);
	char answer[256];
	while (redis_server_ask(&server, "PING", answer, sizeof(answer)))
		;
	assert_int_equal(strncmp(answer, "BUSY", 4), 0);
}

static void is_free(void)
{
	redis_server_tell(&server, "SCRIPT KILL");
	redisFree(script);
}

static void is_stopped(void)
{
	assert_int_equal(kill(server.pid, SIGSTOP), 0);
}

static void goes_on(void)
{
	assert_int_equal(kill(server.pid, SIGCONT), 0);
}

static void is_full(void)
{
	redis_server_tell(&server, "CONFIG SET maxmemory 1");
}

static void has_room(void)
{
	redis_server_tell(&server, "CONFIG SET maxmemory 0");
}

static void loses_its_scripts(void)
{
	redis_server_tell(&server, "SCRIPT FLUSH");
}

static void keeps_them(void)
{
}

static const struct row {
	const char *name;
	void (*begin)(void);
	int takes;    /* what a call that takes a lock is answered with; 1: -EIO or -EHOSTDOWN, as it was sent or not */
	int releases; /* and one that releases it */
	void (*end)(void);
} rows[] = {
	{ "down", is_down, 1, 1, is_back },
	{ "stopped", is_stopped, 1, 1, goes_on },
	{ "busy with another's script", is_busy, 1, 1, is_free },
	{ "without replicas", lacks_replicas, -EHOSTDOWN, -EHOSTDOWN, lacks_none },
	{ "read-only", is_demoted, -EHOSTDOWN, -EHOSTDOWN, is_promoted },
	{ "out of memory", is_full, -ENOSPC, 0, has_room },
	{ "without scripts", loses_its_scripts, 0, 0, keeps_them },
};

static void answer_check(const struct row *row, const char *call, int rc, int expected)
{
	if (expected == 1 ? rc != -EIO && rc != -EHOSTDOWN : rc != expected)
		fail_msg("%s: %s: %s", row->name, call, strerror(-rc));
}

static void row_play(struct redis_fixture *f, const struct row *row)
{
	struct lock_call held = { .lock = "l1" };
	struct lock_call taken = { .lock = "l2" };

	take_in_the_end(f, A, &held);
	row->begin();
	time_t begun = seconds();
	int took = lock_take(&f->realm, B, &taken);
	answer_check(row, "a taking", took, row->takes);
	int dropped = lock_drop(&f->realm, A, &held);
	answer_check(row, "a release", dropped, row->releases);
	if (seconds() - begun > 2 * CALL_MAX)
		fail_msg("%s: two calls took %d s", row->name, (int)(seconds() - begun));
	row->end();
	/* Whatever was in doubt is settled by the next call of its host. */
	struct lock_call probe = { .lock = "l3" };
	for (int host = A; host <= B; host++) {
		take_in_the_end(f, host, &probe);
		drop_in_the_end(f, host, &probe);
	}
	uint64_t token = lock_token(&f->realm, A, "l2");
	if (token != lock_token(&f->realm, B, "l2") || (token != 0 && token != taken.token) ||
	    (took == 0) != (token != 0))
		if (took != -EIO)
			fail_msg("%s: l2 is held by %llu", row->name, (unsigned long long)token);
	if (token != 0)
		drop_in_the_end(f, B, &taken);
	if (lock_token(&f->realm, B, "l1") != 0)
		drop_in_the_end(f, A, &held);
}

static void calls_end_and_hosts_agree(void **state)
{
	struct redis_fixture *f = *state;

	realm_join(f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		row_play(f, &rows[i]);
}

static void a_server_that_comes_back_empty_grants_nothing(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &a), 0);
	redis_server_kill(&server);
	scratch_remove(server.dir);
	server.dir = scratch_new();
	redis_server_restart(&server);
	time_t begun = seconds();
	struct lock_call b = { .lock = "l1" };
	assert_true(lock_take(&f->realm, B, &b) < 0);
	realm_make(f, 0);
	assert_int_equal(lock_take(&f->realm, A, &b), -EHOSTDOWN);
	assert_int_equal(lock_take(&f->realm, B, &b), -EHOSTDOWN);
	assert_true(seconds() - begun <= 3 * CALL_MAX);
}

/* A server that answers as an old one does. */
static void *old_server(void *arg)
{
	static const char none[] = "*1\r\n$-1\r\n";
	static const char info[] =
		"$79\r\nredis_version:6.2.14\r\nrun_id:0123456789012345678901234567890123456789\r\nos:Linux \r\n\r\n";
	int listening = *(int *)arg;
	int fd = accept(listening, NULL, NULL);
	char text[512];
	ssize_t len;

	while (fd >= 0 && (len = read(fd, text, sizeof(text) - 1)) > 0) {
		text[len] = '\0';
		const char *answer = strstr(text, "INFO") != NULL ? info : none;
		if (write(fd, answer, strlen(answer)) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void an_old_server_is_named(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char uri[128];
	char why[512];
	pthread_t thread;

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(pthread_create(&thread, NULL, old_server, &fd), 0);
	(void)snprintf(uri, sizeof(uri), "redis://127.0.0.1:%d?realm=ci", ntohs(address.sin_port));
	assert_int_equal(store_realm_create(uri, why, sizeof(why)), -EPROTONOSUPPORT);
	assert_non_null(strstr(why, "Redis 6.2.14"));
	assert_non_null(strstr(why, "7 or later"));
	pthread_join(thread, NULL);
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(calls_end_and_hosts_agree),
		CASE(a_server_that_comes_back_empty_grants_nothing),
		cmocka_unit_test(an_old_server_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
