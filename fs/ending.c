#include "ending.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Nobody waits longer than this for another's commit: it may be waiting for a slow disk. */
#define COMMIT_MAX_NS 100000000L

/* Nor longer than this for a close that may never come: the process may have left its descriptor to a child. */
#define ARRIVAL_MAX_NS 200000000L

/* Grants are told apart by their token; an older one in the same slot ended long ago. */
#define SLOTS 1024

/* The last token of which each was said. */
struct slot {
	uint64_t expected;
	uint64_t begun;
	uint64_t ended;
	uint64_t awaited; /* in vain, though its process was gone */
};

struct endings {
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	struct slot slots[SLOTS]; /* mutex */
};

struct endings *endings_new(void)
{
	struct endings *endings = calloc(1, sizeof(*endings));
	pthread_condattr_t attr;

	if (endings == NULL)
		return NULL;
	pthread_mutex_init(&endings->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&endings->ended, &attr);
	pthread_condattr_destroy(&attr);
	return endings;
}

void endings_free(struct endings *endings)
{
	if (endings == NULL)
		return;
	pthread_cond_destroy(&endings->ended);
	pthread_mutex_destroy(&endings->mutex);
	free(endings);
}

void endings_expect(struct endings *endings, uint64_t token)
{
	pthread_mutex_lock(&endings->mutex);
	endings->slots[token % SLOTS].expected = token;
	pthread_mutex_unlock(&endings->mutex);
}

void endings_begin(struct endings *endings, uint64_t token)
{
	pthread_mutex_lock(&endings->mutex);
	endings->slots[token % SLOTS].begun = token;
	pthread_mutex_unlock(&endings->mutex);
}

void endings_end(struct endings *endings, uint64_t token)
{
	pthread_mutex_lock(&endings->mutex);
	endings->slots[token % SLOTS].ended = token;
	pthread_cond_broadcast(&endings->ended);
	pthread_mutex_unlock(&endings->mutex);
}

static struct timespec after(long ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	return until;
}

bool endings_wait(struct endings *endings, pid_t holder, uint64_t token)
{
	bool gone = holder > 0 && kill(holder, 0) != 0 && errno == ESRCH;
	struct slot *slot = &endings->slots[token % SLOTS];
	struct timespec until;
	bool any;

	pthread_mutex_lock(&endings->mutex);
	/* A file that a process left to a child stays: do not wait for it again and again. */
	gone = gone && slot->awaited != token;
	/* It may have come and gone between the caller's look and this one: then look again, too. */
	any = gone || slot->expected == token || slot->begun == token || slot->ended == token;
	until = after(slot->begun == token ? COMMIT_MAX_NS : ARRIVAL_MAX_NS);
	while (any && slot->ended != token &&
	       pthread_cond_timedwait(&endings->ended, &endings->mutex, &until) != ETIMEDOUT)
		;
	if (any && slot->ended != token) {
		slot->expected = 0;
		slot->awaited = gone ? token : slot->awaited;
	}
	pthread_mutex_unlock(&endings->mutex);
	return any;
}
