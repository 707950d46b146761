#include "ending.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* How long a call waits at most, see call_due(): on a slower disk, the answer is what is committed so far. */
#define PATIENCE_NS 100000000L

/* Generous limit between a FLUSH and the RELEASE of the same close(2): only the closing process runs in between. */
#define EXPECT_NS 1000000000L

#define UNDER_WAY 8 /* RELEASEs processed at a time: a few per commit */
#define BUCKETS 1024

LIST_HEAD(bucket, ending);
TAILQ_HEAD(changes, ending);

struct endings {
	pthread_mutex_t mutex;
	struct bucket buckets[BUCKETS]; /* by token; protected by mutex, as all below */
	struct changes expected;
	struct changes begun;
	struct changes turns; /* of those, the ones whose RELEASE waits for its turn; the first is next */
	unsigned int under_way;
	uint64_t begins;
	struct call_list aside; /* calls that are put aside, oldest first */
	int64_t last;           /* when a grant ended last, monotonic */
	bool closed;
};

struct endings *endings_new(void)
{
	struct endings *endings = calloc(1, sizeof(*endings));

	if (endings == NULL)
		return NULL;
	pthread_mutex_init(&endings->mutex, NULL);
	TAILQ_INIT(&endings->expected);
	TAILQ_INIT(&endings->begun);
	TAILQ_INIT(&endings->turns);
	TAILQ_INIT(&endings->aside);
	return endings;
}

void endings_free(struct endings *endings)
{
	if (endings == NULL)
		return;
	pthread_mutex_destroy(&endings->mutex);
	free(endings);
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * ATLOCK_SECOND + time.tv_nsec;
}

/* --- The steps of a grant --- */

/* Call with the mutex held, as the next two. */
static void ending_set(struct endings *endings, struct ending *ending, enum ending_state state)
{
	if (ending->state == ENDING_EXPECTED)
		TAILQ_REMOVE(&endings->expected, ending, change);
	if (ending->state == ENDING_BEGUN) {
		TAILQ_REMOVE(&endings->begun, ending, change);
		endings->under_way -= ending->release == NULL;
	}
	if (state == ENDING_EXPECTED)
		TAILQ_INSERT_TAIL(&endings->expected, ending, change);
	if (state == ENDING_BEGUN) {
		TAILQ_INSERT_TAIL(&endings->begun, ending, change);
		ending->begun = ++endings->begins;
		endings->under_way++;
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

/* Call with the mutex held. False without memory. */
static bool release_keep(struct endings *endings, struct ending *ending, const struct fuse_buf *buf)
{
	ending->release = malloc(buf->size);
	if (ending->release == NULL)
		return false;
	memcpy(ending->release, buf->mem, buf->size);
	ending->release_size = (uint32_t)buf->size;
	TAILQ_INSERT_TAIL(&endings->turns, ending, turn);
	endings->under_way--;
	return true;
}

bool endings_begin(struct endings *endings, struct ending *ending, const struct fuse_buf *buf)
{
	bool keep = false;

	pthread_mutex_lock(&endings->mutex);
	if (ending->state == ENDING_HELD || ending->state == ENDING_EXPECTED) {
		ending_set(endings, ending, ENDING_BEGUN);
		keep = endings->under_way > UNDER_WAY && release_keep(endings, ending, buf);
	}
	pthread_mutex_unlock(&endings->mutex);
	return !keep;
}

bool endings_next(struct endings *endings, struct fuse_buf *buf)
{
	struct ending *ending;

	pthread_mutex_lock(&endings->mutex);
	ending = endings->under_way < UNDER_WAY ? TAILQ_FIRST(&endings->turns) : NULL;
	if (ending != NULL) {
		TAILQ_REMOVE(&endings->turns, ending, turn);
		endings->under_way += ending->state == ENDING_BEGUN;
		*buf = (struct fuse_buf){ .size = ending->release_size, .mem = ending->release };
		ending->release = NULL;
	}
	pthread_mutex_unlock(&endings->mutex);
	return ending != NULL;
}

/* --- Calls that are put aside --- */

static void calls_run(struct call_list *ready)
{
	struct call *call;

	while ((call = TAILQ_FIRST(ready)) != NULL) {
		TAILQ_REMOVE(ready, call, link);
		call->fs->wire->again(call->fs, call);
	}
}

/* Whether what the call waits for has ended; `token` just has. Call with the mutex held. */
static bool call_is_ready(const struct endings *endings, const struct call *call, uint64_t token)
{
	const struct ending *first = TAILQ_FIRST(&endings->begun);

	if (call->token != 0)
		return call->token == token;
	return first == NULL || first->begun > call->begun;
}

void endings_end(struct endings *endings, struct ending *ending)
{
	struct call_list ready = TAILQ_HEAD_INITIALIZER(ready);
	uint64_t token = ending->token;
	struct call *call;
	struct call *next;

	pthread_mutex_lock(&endings->mutex);
	ending_remove(endings, ending);
	endings->last = now();
	TAILQ_FOREACH_SAFE(call, &endings->aside, link, next)
		if (call_is_ready(endings, call, token)) {
			TAILQ_REMOVE(&endings->aside, call, link);
			TAILQ_INSERT_TAIL(&ready, call, link);
		}
	pthread_mutex_unlock(&endings->mutex);
	calls_run(&ready);
}

/* One grant comes first, and as long as grants end it will. All may be thousands, most of them of no interest to it. */
static int64_t call_due(const struct endings *endings, const struct call *call)
{
	return (call->token != 0 && call->since < endings->last ? endings->last : call->since) + PATIENCE_NS;
}

int64_t endings_expire(struct endings *endings)
{
	struct call_list ready = TAILQ_HEAD_INITIALIZER(ready);
	int64_t first = INT64_MAX;
	int64_t at = now();
	struct call *call;
	struct call *next;

	pthread_mutex_lock(&endings->mutex);
	TAILQ_FOREACH_SAFE(call, &endings->aside, link, next) {
		int64_t due = call_due(endings, call);

		if (due <= at) {
			TAILQ_REMOVE(&endings->aside, call, link);
			TAILQ_INSERT_TAIL(&ready, call, link);
		} else if (due < first) {
			first = due;
		}
	}
	pthread_mutex_unlock(&endings->mutex);
	calls_run(&ready);
	return first;
}

void endings_close(struct endings *endings)
{
	struct call_list ready = TAILQ_HEAD_INITIALIZER(ready);

	pthread_mutex_lock(&endings->mutex);
	endings->closed = true;
	TAILQ_CONCAT(&ready, &endings->aside, link);
	pthread_mutex_unlock(&endings->mutex);
	calls_run(&ready);
}

/*
 * Call with the mutex held, which it releases. The call may run again, and end, before this returns. The alarm is for
 * the first call: any later one is due later.
 */
static int call_put_aside(struct endings *endings, struct call *call, uint64_t token)
{
	bool first = TAILQ_EMPTY(&endings->aside);
	struct fs *fs = call->fs;

	call->waited = true;
	call->token = token;
	call->begun = endings->begins;
	call->since = now();
	TAILQ_INSERT_TAIL(&endings->aside, call, link);
	pthread_mutex_unlock(&endings->mutex);
	if (first)
		fs->wire->alarm(fs);
	return CALL_LATER;
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

static void endings_catch_up(struct endings *endings, struct fs *fs)
{
	pthread_mutex_unlock(&endings->mutex);
	fs->wire->catch_up(fs);
	pthread_mutex_lock(&endings->mutex);
}

/* Whether the call may be put aside, and then counts as one that is answered later. Call with the mutex held. */
static bool call_prepare(struct endings *endings, struct call *call)
{
	if (call->again == NULL || call->waited)
		return false;
	pthread_mutex_unlock(&endings->mutex);
	call_later(call);
	pthread_mutex_lock(&endings->mutex);
	return !endings->closed;
}

int ending_then(struct call *call, uint64_t token)
{
	struct endings *endings = call->fs->endings;
	struct ending *ending;
	bool ends;

	pthread_mutex_lock(&endings->mutex);
	ending = endings_expected(endings) ? ending_find(endings, token) : NULL;
	if (ending != NULL && ending->state == ENDING_EXPECTED)
		endings_catch_up(endings, call->fs);
	ending = ending_find(endings, token);
	ends = ending != NULL && ending->state == ENDING_BEGUN && call_prepare(endings, call);
	ending = ending_find(endings, token);
	if (!ends || ending == NULL) {
		pthread_mutex_unlock(&endings->mutex);
		/* A grant that is not in the table has ended since it was seen. */
		return ending == NULL ? ENDING_OVER : 0;
	}
	if (ending->release != NULL) {
		TAILQ_REMOVE(&endings->turns, ending, turn);
		TAILQ_INSERT_HEAD(&endings->turns, ending, turn);
	}
	return call_put_aside(endings, call, token);
}

int ending_then_all(struct call *call)
{
	struct endings *endings = call->fs->endings;

	pthread_mutex_lock(&endings->mutex);
	if (endings_expected(endings))
		endings_catch_up(endings, call->fs);
	if (TAILQ_EMPTY(&endings->begun) || !call_prepare(endings, call) || TAILQ_EMPTY(&endings->begun)) {
		pthread_mutex_unlock(&endings->mutex);
		return 0;
	}
	return call_put_aside(endings, call, 0);
}
