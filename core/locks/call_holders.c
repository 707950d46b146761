#include "call_holders.h"

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

struct call_holders_entry {
	size_t count;
	struct stand stands[];
};

struct call_holders {
	_Atomic size_t count; /* of stands; changed under the mutex */
	pthread_mutex_t mutex;
	struct stander_list buckets[BUCKETS]; /* mutex */
};

int call_holders_new(struct call_holders **out)
{
	struct call_holders *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	pthread_mutex_init(&table->mutex, NULL);
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&table->buckets[i]);
	*out = table;
	return 0;
}

/* Call it when all calls have ended. */
void call_holders_free(struct call_holders *table)
{
	if (table == NULL)
		return;
	pthread_mutex_destroy(&table->mutex);
	free(table);
}

static struct stander_list *bucket_of(struct call_holders *table, struct slice who)
{
	return &table->buckets[slice_hash(SLICE_HASH, who) % BUCKETS];
}

/* A start of 0 is unknown and matches any. The caller holds the mutex, here and in all functions below. */
static bool stander_is(const struct stander *stander, struct slice owner, struct slice who, uint64_t start)
{
	return stander->owner_len == owner.len && stander->who_len == who.len &&
	       memcmp(stander->text, owner.data, owner.len) == 0 &&
	       memcmp(stander->text + owner.len, who.data, who.len) == 0 &&
	       (stander->start == start || stander->start == 0 || start == 0);
}

static struct stander *stander_get(struct call_holders *table, const struct atlock_caller *holder)
{
	struct slice owner = { holder->owner, strlen(holder->owner) };
	struct slice who = { holder->who, strlen(holder->who) };
	struct stander_list *bucket = bucket_of(table, who);
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

static void call_drop(struct call_holders *table, struct call_holders_entry *call)
{
	for (size_t i = 0; i < call->count; i++) {
		struct stander *stander = call->stands[i].stander;

		LIST_REMOVE(&call->stands[i], link);
		if (LIST_EMPTY(&stander->stands)) {
			LIST_REMOVE(stander, link);
			free(stander);
		}
	}
	table->count -= call->count;
	free(call);
}

struct call_holders_entry *call_holders_add(struct call_holders *table, uint64_t number,
					    const struct atlock_caller *holders, size_t n)
{
	struct call_holders_entry *call = malloc(sizeof(*call) + n * sizeof(call->stands[0]));

	if (call == NULL)
		return NULL;
	call->count = 0;
	pthread_mutex_lock(&table->mutex);
	while (call != NULL && call->count < n) {
		struct stand *stand = &call->stands[call->count];

		stand->number = number;
		stand->stander = stander_get(table, &holders[call->count]);
		if (stand->stander == NULL) {
			call_drop(table, call);
			call = NULL;
		} else {
			LIST_INSERT_HEAD(&stand->stander->stands, stand, link);
			call->count++;
			table->count++;
		}
	}
	pthread_mutex_unlock(&table->mutex);
	return call;
}

void call_holders_remove(struct call_holders *table, struct call_holders_entry *call)
{
	if (call == NULL)
		return;
	pthread_mutex_lock(&table->mutex);
	call_drop(table, call);
	pthread_mutex_unlock(&table->mutex);
}

size_t call_holders_calls(struct call_holders *table, struct slice owner, struct slice who, uint64_t start,
			  uint64_t *numbers, size_t cap)
{
	const struct stander *stander;
	const struct stand *stand;
	size_t count = 0;

	if (atomic_load_explicit(&table->count, memory_order_relaxed) == 0)
		return 0;
	pthread_mutex_lock(&table->mutex);
	LIST_FOREACH(stander, bucket_of(table, who), link) {
		if (!stander_is(stander, owner, who, start))
			continue;
		LIST_FOREACH(stand, &stander->stands, link) {
			if (count == cap)
				break;
			numbers[count++] = stand->number;
		}
	}
	pthread_mutex_unlock(&table->mutex);
	return count;
}
