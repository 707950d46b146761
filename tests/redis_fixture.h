/*
 * Two hosts on a realm in a real Redis, whichever way it is found. The hosts' threads run unless a test wants otherwise.
 */
#ifndef TESTS_REDIS_FIXTURE_H
#define TESTS_REDIS_FIXTURE_H

#include "realm_fixture.h"
#include "redis_address.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { A, B };
#define TIMEOUT 1000 /* ms, of a request; a call may take some of them */
#define CALL_MAX 8   /* s */

struct redis_fixture {
	struct redis_address address;
	struct realm_fixture realm; /* its hosts' engines; no realm in memory */
};

struct redis_fixture *redis_fixture_new(void);
void redis_fixture_free(struct redis_fixture *f);

/* Opens a host; what remote_open() returned. */
int host_open(struct redis_fixture *f, int host, bool threads);

/* Makes the realm, which must end so; and makes it and opens both hosts. */
void realm_make(struct redis_fixture *f, int expected);
void realm_join(struct redis_fixture *f);

/* s of the monotonic clock. */
time_t seconds(void);

/* Takes or drops a lock, however long the realm takes to open; fails the test after 30 s. */
void take_in_the_end(struct redis_fixture *f, int host, struct lock_call *call);
void drop_in_the_end(struct redis_fixture *f, int host, struct lock_call *call);

/*
 * Threads of both hosts that take and drop two locks until they are told to stop. They fail if one of them holds what another holds, or gets
 * a token that is not above all before it.
 */
#define CREW 4
struct crew {
	struct redis_fixture *f;
	atomic_bool stop;
	atomic_uint rounds;
	atomic_uint wrong;
	struct crew_lock {
		atomic_int holders;
		atomic_ullong token;
	} locks[2];
	struct crew_member {
		pthread_t thread;
		struct crew *crew;
		int host;
	} members[CREW];
};

void crew_start(struct crew *crew, struct redis_fixture *f);

/* Waits until it has done so many rounds more. */
void crew_wait(struct crew *crew, unsigned int rounds);
void crew_stop(struct crew *crew);

#endif
