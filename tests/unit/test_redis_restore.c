/* A realm from a copy: it is the one that was copied, hosts give back what they have seen since, and no token comes again. */
#include "redis_fixture.h"
#include "redis_realm.h"
#include "redis_server.h"
#include "scratch.h"
#include "store_realm.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct redis_server server;
static char uri[128];
static char copy[512];
static char why[512];
static uint64_t keys;

static int setup(void **state)
{
	struct redis_fixture *f = redis_fixture_new();

	redis_server_start(&server, NULL);
	f->address = redis_server_address(&server, "test");
	(void)snprintf(uri, sizeof(uri), "redis://127.0.0.1:%d/0?realm=test", server.uri.port);
	(void)snprintf(copy, sizeof(copy), "%s/copy", server.dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	redis_fixture_free(*state);
	redis_server_stop(&server);
	return 0;
}

static void must(int rc)
{
	if (rc != 0)
		fail_msg("%d: %s", rc, why);
}

/* A host that knows nothing of before. */
static void host_anew(struct redis_fixture *f, int host)
{
	realm_close(&f->realm, host);
	scratch_remove(f->realm.hosts[host].dir);
	f->realm.hosts[host].dir = scratch_new();
	if (host_open(f, host, true) != 0)
		fail_msg("%s", f->realm.why);
}

static void new_hosts_find_what_was_copied(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call kept = { .lock = "l1" };
	struct lock_call later = { .lock = "l2" };

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &kept), 0);
	must(store_realm_backup(uri, copy, &keys, why, sizeof(why)));
	assert_int_equal(lock_take(&f->realm, B, &later), 0);
	realm_close(&f->realm, A);
	realm_close(&f->realm, B);
	redis_server_tell(&server, "FLUSHALL");
	must(store_realm_restore(uri, copy, &keys, why, sizeof(why)));
	host_anew(f, A);
	host_anew(f, B);
	assert_int_equal(lock_token(&f->realm, B, "l1"), kept.token);
	assert_int_equal(lock_token(&f->realm, B, "l2"), 0);
	struct lock_call again = { .lock = "l2" };
	assert_int_equal(lock_take(&f->realm, A, &again), 0);
	assert_true(again.token > later.token);
}

static void hosts_give_back_what_came_after(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call before = { .lock = "l1" };
	struct lock_call after = { .lock = "l2" };
	struct lock_call probe = { .lock = "l3" };

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &before), 0);
	must(store_realm_backup(uri, copy, &keys, why, sizeof(why)));
	assert_int_equal(lock_drop(&f->realm, A, &before), 0);
	assert_int_equal(lock_take(&f->realm, B, &after), 0);
	redis_server_tell(&server, "FLUSHALL");
	must(store_realm_restore(uri, copy, &keys, why, sizeof(why)));
	take_in_the_end(f, A, &probe);
	assert_int_equal(lock_token(&f->realm, B, "l1"), 0);
	assert_int_equal(lock_token(&f->realm, A, "l2"), after.token);
}

/* The copy is of one moment while others change the realm. */
static void a_copy_under_load_can_be_restored(void **state)
{
	struct redis_fixture *f = *state;
	struct crew crew;

	realm_join(f);
	crew_start(&crew, f);
	for (int i = 0; i < 20; i++) {
		crew_wait(&crew, 5);
		(void)unlink(copy);
		must(store_realm_backup(uri, copy, &keys, why, sizeof(why)));
	}
	crew_stop(&crew);
	char other[128];
	(void)snprintf(other, sizeof(other), "redis://127.0.0.1:%d/1?realm=test", server.uri.port);
	must(store_realm_restore(other, copy, &keys, why, sizeof(why)));
}

static void half_a_realm_is_none_and_is_continued(void **state)
{
	struct redis_fixture *f = *state;
	struct lock_call kept = { .lock = "l1" };
	struct remote_adapter *adapter;
	struct dump dump;

	realm_join(f);
	assert_int_equal(lock_take(&f->realm, A, &kept), 0);
	must(store_realm_backup(uri, copy, &keys, why, sizeof(why)));
	assert_int_equal(store_realm_restore(uri, copy, &keys, why, sizeof(why)), -EEXIST);
	realm_close(&f->realm, A);
	realm_close(&f->realm, B);
	redis_server_tell(&server, "FLUSHALL");
	assert_int_equal(dump_init(&dump), 0);
	assert_int_equal(dump_read(&dump, copy), 0);
	assert_int_equal(redis_realm_open(&adapter, &f->address, TIMEOUT), 0);
	assert_int_equal(redis_realm_fill(adapter, &dump), 0);
	adapter->ops->close(adapter);
	dump_free(&dump);
	assert_int_equal(host_open(f, A, true), -ENOENT);
	realm_make(f, -EEXIST);
	must(store_realm_restore(uri, copy, &keys, why, sizeof(why)));
	host_anew(f, B);
	assert_int_equal(lock_token(&f->realm, B, "l1"), kept.token);
}

static void a_damaged_copy_is_refused(void **state)
{
	struct redis_fixture *f = *state;
	char byte;

	realm_make(f, 0);
	assert_int_equal(host_open(f, A, true), 0);
	must(store_realm_backup(uri, copy, &keys, why, sizeof(why)));
	redis_server_tell(&server, "FLUSHALL");
	int fd = open(copy, O_RDWR | O_CLOEXEC);
	off_t len = lseek(fd, 0, SEEK_END);
	for (off_t at = 0; at < len; at += 7) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte = (char)(byte ^ 0x10);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_int_equal(store_realm_restore(uri, copy, &keys, why, sizeof(why)), -EBADMSG);
		byte = (char)(byte ^ 0x10);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(ftruncate(fd, len - 1), 0);
	assert_int_equal(store_realm_restore(uri, copy, &keys, why, sizeof(why)), -EBADMSG);
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(new_hosts_find_what_was_copied),    CASE(hosts_give_back_what_came_after),
		CASE(a_copy_under_load_can_be_restored), CASE(half_a_realm_is_none_and_is_continued),
		CASE(a_damaged_copy_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
