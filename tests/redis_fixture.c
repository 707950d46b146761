#include "redis_fixture.h"

#include "redis_realm.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE 60 /* s */

struct redis_fixture *redis_fixture_new(void)
{
	struct redis_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	for (int i = A; i <= B; i++)
		f->realm.hosts[i].dir = scratch_new();
	return f;
}

void redis_fixture_free(struct redis_fixture *f)
{
	for (int i = A; i <= B; i++) {
		realm_close(&f->realm, i);
		scratch_remove(f->realm.hosts[i].dir);
	}
	free(f);
}

int host_open(struct redis_fixture *f, int host, bool threads)
{
	struct realm_host *h = &f->realm.hosts[host];
	const struct remote_options remote = {
		.cache = h->dir, .host = "host", .host_timeout = 3000, .timeout = 2 * TIMEOUT, .threads = threads
	};
	struct remote_adapter *adapter;

	assert_int_equal(redis_realm_open(&adapter, &f->address, TIMEOUT), 0);
	return remote_open(&h->engine, adapter, &remote, &f->realm.options, f->realm.why, sizeof(f->realm.why));
}

void realm_make(struct redis_fixture *f, int expected)
{
	struct remote_adapter *adapter;

	assert_int_equal(redis_realm_open(&adapter, &f->address, TIMEOUT), 0);
	int rc = redis_realm_create(adapter);
	if (rc != expected)
		fail_msg("%d: %s", rc, adapter->trouble);
	adapter->ops->close(adapter);
}

void realm_join(struct redis_fixture *f)
{
	realm_make(f, 0);
	for (int i = A; i <= B; i++)
		if (host_open(f, i, true) != 0)
			fail_msg("%s", f->realm.why);
}

time_t seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

typedef int lock_fn(struct realm_fixture *f, int host, struct lock_call *call);

static void in_the_end(lock_fn *fn, struct redis_fixture *f, int host, struct lock_call *call)
{
	time_t until = seconds() + 30;
	int rc;

	while ((rc = fn(&f->realm, host, call)) != 0 && seconds() < until)
		(void)usleep(50000);
	assert_int_equal(rc, 0);
}

void take_in_the_end(struct redis_fixture *f, int host, struct lock_call *call)
{
	in_the_end(lock_take, f, host, call);
}

void drop_in_the_end(struct redis_fixture *f, int host, struct lock_call *call)
{
	in_the_end(lock_drop, f, host, call);
}

/* Lets go of a lock whatever the engine says meanwhile. An answer that was lost may have been the release: then it is not there any more. */
static void crew_drop(struct crew_member *member, struct lock_call *call)
{
	int rc;

	do
		rc = lock_drop(&member->crew->f->realm, member->host, call);
	while (rc != 0 && rc != -ENOENT);
}

/* A call that was answered with EIO may have been granted: then the lock is held under the token that was drawn last. */
static void crew_settle(struct crew_member *member, const char *lock, uint64_t token)
{
	struct lock_call call = { .lock = lock, .token = token };

	if (token != 0)
		crew_drop(member, &call);
}

static void crew_round(struct crew_member *member, int which)
{
	static const char *const names[] = { "l1", "l2" };
	struct crew *crew = member->crew;
	struct crew_lock *lock = &crew->locks[which];
	struct lock_call call = { .lock = names[which] };
	int rc = lock_take(&crew->f->realm, member->host, &call);

	if (rc == -EIO)
		crew_settle(member, names[which], call.token);
	if (rc != 0)
		return;
	if (atomic_fetch_add(&lock->holders, 1) != 0 || call.token <= atomic_load(&lock->token))
		atomic_fetch_add(&crew->wrong, 1);
	atomic_store(&lock->token, call.token);
	(void)usleep(500);
	atomic_fetch_sub(&lock->holders, 1);
	crew_drop(member, &call);
	atomic_fetch_add(&crew->rounds, 1);
}

static void *crew_work(void *arg)
{
	struct crew_member *member = arg;

	for (int i = 0; !atomic_load(&member->crew->stop); i++)
		crew_round(member, i % 2);
	return NULL;
}

void crew_start(struct crew *crew, struct redis_fixture *f)
{
	*crew = (struct crew){ .f = f };
	for (int i = 0; i < CREW; i++) {
		crew->members[i] = (struct crew_member){ .crew = crew, .host = i % 2 };
		assert_int_equal(pthread_create(&crew->members[i].thread, NULL, crew_work, &crew->members[i]), 0);
	}
}

void crew_wait(struct crew *crew, unsigned int rounds)
{
	time_t until = seconds() + PATIENCE;

	rounds += atomic_load(&crew->rounds);
	while (atomic_load(&crew->rounds) < rounds && seconds() < until)
		(void)usleep(10000);
	if (atomic_load(&crew->rounds) < rounds)
		fail_msg("nothing moves any more");
}

void crew_stop(struct crew *crew)
{
	atomic_store(&crew->stop, true);
	for (int i = 0; i < CREW; i++)
		pthread_join(crew->members[i].thread, NULL);
	assert_int_equal(atomic_load(&crew->wrong), 0);
}
