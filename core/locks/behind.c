#include "behind.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

struct stand;
LIST_HEAD(stand_list, stand);

/* A holder that stands behind one call or many. Stored once, because a session may stand behind thousands of calls. */
struct stander {
	LIST_ENTRY(stander) link;
	struct stand_list stands;
	uint64_t start;
	size_t owner_len;
	size_t who_len;
	char text[]; /* owner, then who */
};

LIST_HEAD(stander_list, stander);

struct stand {
	LIST_ENTRY(stand) link; /* of its stander */
	struct stander *stander;
	uint64_t number;
};

struct behind_call {
	size_t count;
	struct stand stands[];
};

struct behind {
	_Atomic size_t count; /* of stands; changed under the mutex */
	pthread_mutex_t mutex;
	struct stander_list buckets[BUCKETS]; /* mutex */
};

int behind_new(struct behind **out)
{
	struct behind *behind = calloc(1, sizeof(*behind));

	if (behind == NULL)
		return -ENOMEM;
	pthread_mutex_init(&behind->mutex, NULL);
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&behind->buckets[i]);
	*out = behind;
	return 0;
}

/* Call it when all calls have ended. */
void behind_free(struct behind *behind)
{
	if (behind == NULL)
		return;
	pthread_mutex_destroy(&behind->mutex);
	free(behind);
}

static struct stander_list *bucket_of(struct behind *behind, struct slice who)
{
	const unsigned char *at = who.data;
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < who.len; i++)
		hash = (hash ^ at[i]) * 16777619U;
	return &behind->buckets[hash % BUCKETS];
}

/* A start of 0 is unknown and matches any. The caller holds the mutex, here and in all functions below. */
static bool stander_is(const struct stander *stander, struct slice owner, struct slice who, uint64_t start)
{
	return stander->owner_len == owner.len && stander->who_len == who.len &&
	       memcmp(stander->text, owner.data, owner.len) == 0 &&
	       memcmp(stander->text + owner.len, who.data, who.len) == 0 &&
	       (stander->start == start || stander->start == 0 || start == 0);
}

static struct stander *stander_get(struct behind *behind, const struct atlock_caller *holder)
{
	struct slice owner = { holder->owner, strlen(holder->owner) };
	struct slice who = { holder->who, strlen(holder->who) };
	struct stander_list *bucket = bucket_of(behind, who);
	struct stander *stander;

	LIST_FOREACH(stander, bucket, link)
		if (stander->start == holder->bound_start && stander_is(stander, owner, who, stander->start))
			return stander;
	stander = malloc(sizeof(*stander) + owner.len + who.len);
	if (stander == NULL)
		return NULL;
	LIST_INIT(&stander->stands);
	stander->start = holder->bound_start;
	stander->owner_len = owner.len;
	stander->who_len = who.len;
	memcpy(stander->text, owner.data, owner.len);
	memcpy(stander->text + owner.len, who.data, who.len);
	LIST_INSERT_HEAD(bucket, stander, link);
	return stander;
}

static void call_drop(struct behind *behind, struct behind_call *call)
{
	for (size_t i = 0; i < call->count; i++) {
		struct stander *stander = call->stands[i].stander;

		LIST_REMOVE(&call->stands[i], link);
		if (LIST_EMPTY(&stander->stands)) {
			LIST_REMOVE(stander, link);
			free(stander);
		}
	}
	behind->count -= call->count;
	free(call);
}

struct behind_call *behind_add(struct behind *behind, uint64_t number, const struct atlock_caller *holders, size_t n)
{
	struct behind_call *call = malloc(sizeof(*call) + n * sizeof(call->stands[0]));

	if (call == NULL)
		return NULL;
	call->count = 0;
	pthread_mutex_lock(&behind->mutex);
	while (call != NULL && call->count < n) {
		struct stand *stand = &call->stands[call->count];

		stand->number = number;
		stand->stander = stander_get(behind, &holders[call->count]);
		if (stand->stander == NULL) {
			call_drop(behind, call);
			call = NULL;
		} else {
			LIST_INSERT_HEAD(&stand->stander->stands, stand, link);
			call->count++;
			behind->count++;
		}
	}
	pthread_mutex_unlock(&behind->mutex);
	return call;
}

void behind_remove(struct behind *behind, struct behind_call *call)
{
	if (call == NULL)
		return;
	pthread_mutex_lock(&behind->mutex);
	call_drop(behind, call);
	pthread_mutex_unlock(&behind->mutex);
}

size_t behind_calls(struct behind *behind, struct slice owner, struct slice who, uint64_t start, uint64_t *numbers,
		    size_t cap)
{
	const struct stander *stander;
	const struct stand *stand;
	size_t count = 0;

	if (atomic_load_explicit(&behind->count, memory_order_relaxed) == 0)
		return 0;
	pthread_mutex_lock(&behind->mutex);
	LIST_FOREACH(stander, bucket_of(behind, who), link) {
		if (!stander_is(stander, owner, who, start))
			continue;
		LIST_FOREACH(stand, &stander->stands, link) {
			if (count == cap)
				break;
			numbers[count++] = stand->number;
		}
	}
	pthread_mutex_unlock(&behind->mutex);
	return count;
}
