/*
 * A realm in a cluster of three nodes: hosts that know any node of it find the one that has the realm, and go on through a migration of its
 * slot, key by key and back, with no lock granted twice.
 */
#include "redis_fixture.h"
#include "redis_server.h"

#include <bsd/string.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define NODES 3
#define SLOTS 16384
#define KEYS "atlantis:enhanced:{test}"
#define PATIENCE 30 /* s */

static struct redis_server nodes[NODES];
static char ids[NODES][64];

static bool all_agree(void)
{
	char info[4096];

	for (int i = 0; i < NODES; i++)
		if (!redis_server_ask(&nodes[i], "CLUSTER INFO", info, sizeof(info)) ||
		    strstr(info, "cluster_state:ok") == NULL || strstr(info, "cluster_known_nodes:3") == NULL)
			return false;
	return true;
}

static void cluster_start(void)
{
	static const char *const words[] = {
		"--cluster-enabled", "yes", "--cluster-port", "@port", "--cluster-node-timeout", "2000", NULL
	};
	time_t until = seconds() + PATIENCE;

	for (int i = 0; i < NODES; i++)
		redis_server_start_with(&nodes[i], NULL, words);
	for (int i = 0; i < NODES; i++) {
		assert_true(redis_server_ask(&nodes[i], "CLUSTER MYID", ids[i], sizeof(ids[i])));
		redis_server_tell(&nodes[i], "CLUSTER ADDSLOTSRANGE %d %d", i * SLOTS / NODES,
				  (i + 1) * SLOTS / NODES - 1);
		redis_server_tell(&nodes[0], "CLUSTER MEET 127.0.0.1 %d %d", nodes[i].uri.port, nodes[i].second_port);
	}
	while (!all_agree() && seconds() < until)
		(void)usleep(50000);
	assert_true(all_agree());
}

static int setup(void **state)
{
	struct redis_fixture *f = redis_fixture_new();

	cluster_start();
	f->address = redis_server_address(&nodes[0], "test");
	for (int i = 0; i < NODES; i++) {
		f->address.nodes[i] = f->address.nodes[0];
		f->address.nodes[i].port = nodes[i].uri.port;
	}
	f->address.node_count = NODES;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	redis_fixture_free(*state);
	for (int i = 0; i < NODES; i++)
		redis_server_stop(&nodes[i]);
	return 0;
}

/* The node that has the realm: it answers a question about its key. */
static int owner(void)
{
	char answer[256];

	for (int i = 0; i < NODES; i++)
		if (redis_server_ask(&nodes[i], "HLEN " KEYS ":k", answer, sizeof(answer)))
			return i;
	fail_msg("no node has the realm");
	return -1;
}

static int slot(void)
{
	char answer[256];

	/* A node that has it not says which it is: "MOVED 123 host:port". */
	for (int i = 0; i < NODES; i++)
		if (!redis_server_ask(&nodes[i], "HLEN " KEYS ":k", answer, sizeof(answer)))
			return (int)strtol(strchr(answer, ' '), NULL, 10);
	return -1;
}

static void key_migrate(int from, int to, const char *key)
{
	redis_server_tell(&nodes[from], "MIGRATE 127.0.0.1 %d %s 0 5000", nodes[to].uri.port, key);
}

/* As redis-cli reshards, with time in between for what hosts do then. */
static void slot_migrate(int from, int to, const char *first, const char *second)
{
	int number = slot();

	redis_server_tell(&nodes[to], "CLUSTER SETSLOT %d IMPORTING %s", number, ids[from]);
	redis_server_tell(&nodes[from], "CLUSTER SETSLOT %d MIGRATING %s", number, ids[to]);
	(void)usleep(200000);
	key_migrate(from, to, first);
	(void)usleep(300000);
	key_migrate(from, to, second);
	(void)usleep(1500000);
	redis_server_tell(&nodes[to], "CLUSTER SETSLOT %d NODE %s", number, ids[to]);
	for (int i = 0; i < NODES; i++)
		if (i != to)
			redis_server_tell(&nodes[i], "CLUSTER SETSLOT %d NODE %s", number, ids[to]);
}

static void any_node_leads_to_the_realm(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };

	realm_make(f, 0);
	int has = owner();
	f->address.node_count = 1;
	f->address.nodes[0].port = nodes[(has + 1) % NODES].uri.port;
	realm_make(f, -EEXIST);
	assert_int_equal(host_open(f, A, true), 0);
	f->address.nodes[0].port = nodes[(has + 2) % NODES].uri.port;
	assert_int_equal(host_open(f, B, true), 0);
	assert_int_equal(lock_take(&f->realm, A, &a), 0);
	assert_int_equal(lock_token(&f->realm, B, "l1"), a.token);
}

static void a_slot_migrates_under_load(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call held = { .lock = "held" };
	struct crew crew;

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &held), 0);
	crew_start(&crew, f);
	crew_wait(&crew, 50);
	int from = owner();
	int to = (from + 1) % NODES;
	slot_migrate(from, to, KEYS ":k", KEYS ":l");
	crew_wait(&crew, 50);
	assert_int_equal(owner(), to);
	slot_migrate(to, from, KEYS ":l", KEYS ":k");
	crew_wait(&crew, 50);
	assert_int_equal(owner(), from);
	crew_stop(&crew);
	assert_int_equal(lock_token(&f->realm, B, "held"), held.token);
}

static void a_node_that_stands_still_ends_calls(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call a = { .lock = "l1" };
	struct lock_call other = { .lock = "l2" };

	realm_join(f);
	int has = owner();
	assert_int_equal(kill(nodes[has].pid, SIGSTOP), 0);
	time_t begun = seconds();
	assert_true(lock_take(&f->realm, A, &a) < 0);
	assert_true(seconds() - begun <= CALL_MAX);
	assert_int_equal(kill(nodes[has].pid, SIGCONT), 0);
	take_in_the_end(f, B, &other);
	uint64_t token = lock_token(&f->realm, A, "l1");
	assert_true(token == 0 || token == a.token);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_node_leads_to_the_realm),
		CASE(a_slot_migrates_under_load),
		CASE(a_node_that_stands_still_ends_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
