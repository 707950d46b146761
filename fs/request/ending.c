#include "ending.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Longest wait for the commit of another thread: on a slower disk, the answer is what is committed so far. */
#define COMMIT_MAX_NS 100000000L

/* Generous limit between a FLUSH and the RELEASE of the same close(2): only the closing process runs in between. */
#define EXPECT_NS 1000000000L

#define BUCKETS 1024

LIST_HEAD(bucket, ending);
TAILQ_HEAD(changes, ending);

struct endings {
	void (*catch_up)(void);
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	struct bucket buckets[BUCKETS]; /* by token; protected by mutex, as all below */
	struct changes expected;
	struct changes begun;
	uint64_t begins;
};

struct endings *endings_new(void (*catch_up)(void))
{
	struct endings *endings = calloc(1, sizeof(*endings));
	pthread_condattr_t attr;

	if (endings == NULL)
		return NULL;
	endings->catch_up = catch_up;
	pthread_mutex_init(&endings->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&endings->ended, &attr);
	pthread_condattr_destroy(&attr);
	TAILQ_INIT(&endings->expected);
	TAILQ_INIT(&endings->begun);
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

/* Call with the mutex held, as the next. */
static void ending_set(struct endings *endings, struct ending *ending, enum ending_state state)
{
	if (ending->state == ENDING_EXPECTED)
		TAILQ_REMOVE(&endings->expected, ending, change);
	if (ending->state == ENDING_BEGUN)
		TAILQ_REMOVE(&endings->begun, ending, change);
	if (state == ENDING_EXPECTED)
		TAILQ_INSERT_TAIL(&endings->expected, ending, change);
	if (state == ENDING_BEGUN) {
		TAILQ_INSERT_TAIL(&endings->begun, ending, change);
		ending->begun = ++endings->begins;
	}
	ending->state = state;
}

static void ending_remove(struct endings *endings, struct ending *ending)
{
	if (ending->state == ENDING_NONE)
		return;
	ending_set(endings, ending, ENDING_NONE);
	LIST_REMOVE(ending, bucket);
}

static struct ending *ending_find(struct endings *endings, uint64_t token)
{
	struct ending *ending;

	LIST_FOREACH(ending, &endings->buckets[token % BUCKETS], bucket)
		if (ending->token == token)
			break;
	return ending;
}

void endings_add(struct endings *endings, struct ending *ending, uint64_t token)
{
	pthread_mutex_lock(&endings->mutex);
	ending_remove(endings, ending);
	ending->token = token;
	LIST_INSERT_HEAD(&endings->buckets[token % BUCKETS], ending, bucket);
	ending_set(endings, ending, ENDING_HELD);
	pthread_mutex_unlock(&endings->mutex);
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000L + time.tv_nsec;
}

void endings_expect(struct endings *endings, struct ending *ending)
{
	int64_t at = now();

	pthread_mutex_lock(&endings->mutex);
	if (ending->state == ENDING_HELD || ending->state == ENDING_EXPECTED) {
		ending_set(endings, ending, ENDING_EXPECTED);
		ending->flushed = at;
	}
	pthread_mutex_unlock(&endings->mutex);
}

void endings_begin(struct endings *endings, struct ending *ending)
{
	pthread_mutex_lock(&endings->mutex);
	if (ending->state == ENDING_HELD || ending->state == ENDING_EXPECTED)
		ending_set(endings, ending, ENDING_BEGUN);
	pthread_mutex_unlock(&endings->mutex);
}

void endings_end(struct endings *endings, struct ending *ending)
{
	pthread_mutex_lock(&endings->mutex);
	ending_remove(endings, ending);
	pthread_cond_broadcast(&endings->ended);
	pthread_mutex_unlock(&endings->mutex);
}

/* Whether any grant is expected to end. If EXPECT_NS have passed, the descriptor closed was not the last. */
static bool endings_expected(struct endings *endings)
{
	int64_t since = now() - EXPECT_NS;
	struct ending *ending;

	while ((ending = TAILQ_FIRST(&endings->expected)) != NULL && ending->flushed < since)
		ending_set(endings, ending, ENDING_HELD);
	return ending != NULL;
}

static void endings_catch_up(struct endings *endings)
{
	pthread_mutex_unlock(&endings->mutex);
	endings->catch_up();
	pthread_mutex_lock(&endings->mutex);
}

static struct timespec deadline(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += COMMIT_MAX_NS;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	return until;
}

bool endings_wait(struct endings *endings, uint64_t token)
{
	struct timespec until = deadline();
	struct ending *ending;
	bool ends;

	pthread_mutex_lock(&endings->mutex);
	ending = endings_expected(endings) ? ending_find(endings, token) : NULL;
	if (ending != NULL && ending->state == ENDING_EXPECTED)
		endings_catch_up(endings);
	ending = ending_find(endings, token);
	/* A grant that is not in the table has ended since it was seen. */
	ends = ending == NULL || ending->state == ENDING_BEGUN;
	while (ends && ending_find(endings, token) != NULL &&
	       pthread_cond_timedwait(&endings->ended, &endings->mutex, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&endings->mutex);
	return ends;
}

void endings_wait_all(struct endings *endings)
{
	struct timespec until = deadline();
	struct ending *ending;
	uint64_t last;

	pthread_mutex_lock(&endings->mutex);
	if (endings_expected(endings))
		endings_catch_up(endings);
	last = endings->begins;
	while ((ending = TAILQ_FIRST(&endings->begun)) != NULL && ending->begun <= last &&
	       pthread_cond_timedwait(&endings->ended, &endings->mutex, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&endings->mutex);
}
