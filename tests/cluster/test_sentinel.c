/*
 * A realm that Sentinels name: hosts follow a failover, and what the promoted replica lacks is given back by the hosts that have it.
 */
#include "redis_fixture.h"
#include "redis_server.h"
#include "scratch.h"

#include <bsd/string.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define SENTINELS 3
#define PATIENCE 30 /* s */

static struct redis_server primary;
static struct redis_server replica;
static struct redis_server sentinels[SENTINELS];
static char *confs;

/* A Sentinel rewrites its file. */
static const char *conf_write(int which)
{
	static char paths[SENTINELS][256];
	FILE *file;

	(void)snprintf(paths[which], sizeof(paths[which]), "%s/sentinel-%d.conf", confs, which);
	file = fopen(paths[which], "we");
	assert_non_null(file);
	fprintf(file,
		"sentinel monitor realm 127.0.0.1 %d 2\n"
		"sentinel down-after-milliseconds realm 1000\n"
		"sentinel failover-timeout realm 5000\n",
		primary.uri.port);
	assert_int_equal(fclose(file), 0);
	return paths[which];
}

static bool sentinels_are_ready(void)
{
	char answer[4096];

	for (int i = 0; i < SENTINELS; i++)
		if (!redis_server_ask(&sentinels[i], "INFO sentinel", answer, sizeof(answer)) ||
		    strstr(answer, "slaves=1,sentinels=3") == NULL)
			return false;
	return true;
}

static int setup(void **state)
{
	struct redis_fixture *f = redis_fixture_new();
	time_t until = seconds() + PATIENCE;

	confs = scratch_new();
	redis_server_start(&primary, NULL);
	redis_server_start_with(&replica, NULL,
				(const char *const[]){ "--masteruser", "replica", "--masterauth", "x", NULL });
	redis_server_tell(&primary, "CONFIG SET repl-diskless-sync-delay 0");
	redis_server_tell(&primary, "ACL SETUSER replica on >x +@all");
	redis_server_tell(&replica, "REPLICAOF 127.0.0.1 %d", primary.uri.port);
	for (int i = 0; i < SENTINELS; i++)
		redis_sentinel_start(&sentinels[i], conf_write(i));
	while (!sentinels_are_ready() && seconds() < until)
		(void)usleep(100000);
	assert_true(sentinels_are_ready());
	f->address = redis_server_address(&primary, "test");
	(void)strlcpy(f->address.master, "realm", sizeof(f->address.master));
	for (int i = 0; i < SENTINELS; i++) {
		f->address.nodes[i] = f->address.nodes[0];
		f->address.nodes[i].port = sentinels[i].uri.port;
	}
	f->address.node_count = SENTINELS;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	redis_fixture_free(*state);
	for (int i = 0; i < SENTINELS; i++)
		redis_server_stop(&sentinels[i]);
	redis_server_stop(&replica);
	redis_server_stop(&primary);
	scratch_remove(confs);
	return 0;
}

static bool has_line(const struct redis_server *server, const char *line)
{
	char info[8192];

	return redis_server_ask(server, "INFO replication", info, sizeof(info)) && strstr(info, line) != NULL;
}

/* Until the replica has what the primary has. */
static void replica_wait(void)
{
	time_t until = seconds() + PATIENCE;

	while (!has_line(&replica, "master_link_status:up") && seconds() < until)
		(void)usleep(50000);
	assert_true(has_line(&replica, "master_link_status:up"));
}

static void hosts_follow_a_failover(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call held = { .lock = "held" };
	struct crew crew;

	replica_wait();
	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &held), 0);
	crew_start(&crew, f);
	crew_wait(&crew, 50);
	redis_server_kill(&primary);
	crew_wait(&crew, 50);
	crew_stop(&crew);
	assert_true(has_line(&replica, "role:master"));
	assert_int_equal(lock_token(&f->realm, B, "held"), held.token);
}

static void what_a_failover_lost_is_given_back(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call kept = { .lock = "l1" };
	struct lock_call gone = { .lock = "l2" };
	struct lock_call again = { .lock = "l3" };

	replica_wait();
	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &kept), 0);
	assert_int_equal(lock_take(&f->realm, A, &gone), 0);
	/* From here on nothing reaches the replica. */
	redis_server_tell(&primary, "ACL DELUSER replica");
	assert_int_equal(lock_drop(&f->realm, A, &gone), 0);
	assert_int_equal(lock_take(&f->realm, B, &again), 0);
	assert_int_equal(lock_token(&f->realm, A, "l3"), again.token);
	redis_server_kill(&primary);
	struct lock_call other = { .lock = "other" };
	take_in_the_end(f, A, &other);
	assert_true(has_line(&replica, "role:master"));
	assert_int_equal(lock_token(&f->realm, B, "l1"), kept.token);
	assert_int_equal(lock_token(&f->realm, B, "l2"), 0);
	assert_int_equal(lock_token(&f->realm, A, "l3"), again.token);
}

static void without_a_sentinel_calls_end(void **state)
{
	struct redis_fixture *f = *state;

	for (int i = 0; i < SENTINELS; i++)
		redis_server_kill(&sentinels[i]);
	realm_make(f, -EHOSTDOWN);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(hosts_follow_a_failover),
		CASE(what_a_failover_lost_is_given_back),
		CASE(without_a_sentinel_calls_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
