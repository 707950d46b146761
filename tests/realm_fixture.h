/*
 * Three hosts of one realm in memory, and locks as a store sees them: a key that is there or not, with a number that rises. Nothing runs by
 * itself: a test calls remote_follow() and remote_tick(), and moves the clock.
 */
#ifndef TESTS_REALM_FIXTURE_H
#define TESTS_REALM_FIXTURE_H

#include "mem_realm.h"
#include "remote_engine.h"
#include "remote_feed.h"
#include "remote_hosts.h"
#include "store_types.h"

#define HOSTS 3
#define HOST_TIMEOUT 15000 /* ms */

struct realm_host {
	char *dir;
	struct mem_line_faults faults;
	struct engine *engine;
	unsigned int changes; /* of other hosts, that it was told of */
	unsigned int cuts;    /* how often it was told that it is cut off */
};

struct realm_fixture {
	struct mem_realm *realm;
	struct realm_host hosts[HOSTS];
	int64_t now; /* ns; each reading adds a millisecond */
	struct store_clock clock;
	struct store_options options;
	char why[256];
};

/* For cmocka: with the realm made, and all hosts joined. */
int realm_setup(void **state);
int realm_teardown(void **state);

/* Opens a host, or opens it again; what remote_open() returned. */
int realm_open(struct realm_fixture *f, int host);
void realm_close(struct realm_fixture *f, int host);

/* Runs the clock for so many ms, a second at a time; the hosts of the mask tick meanwhile. */
void realm_run(struct realm_fixture *f, int ms, unsigned int mask);

/* One call on a lock. */
struct lock_call {
	const char *lock;
	uint64_t token; /* that was given, or that is let go */
	int runs;       /* of the function */
};

/* Takes a lock: 0, -EBUSY, or the engine's error. */
int lock_take(struct realm_fixture *f, int host, struct lock_call *call);

/* Lets go of the grant with this token: 0, -ENOENT, or the engine's error. */
int lock_drop(struct realm_fixture *f, int host, struct lock_call *call);

/* The token under which it is held; 0: it is free. Fails the test if the host cannot say. */
uint64_t lock_token(struct realm_fixture *f, int host, const char *lock);

#endif
