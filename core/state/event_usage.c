#include "event_usage.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 256

struct event_usage {
	struct event_usage *next;
	uid_t uid;
	uint64_t bytes;
};

struct event_usages {
	pthread_mutex_t mutex;
	uint32_t day;                         /* mutex, as the next: the day that is counted */
	struct event_usage *buckets[BUCKETS]; /* by uid */
};

int event_usages_new(struct event_usages **out)
{
	struct event_usages *usages = calloc(1, sizeof(*usages));

	if (usages == NULL)
		return -ENOMEM;
	pthread_mutex_init(&usages->mutex, NULL);
	*out = usages;
	return 0;
}

static void forget_all(struct event_usages *usages)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (usages->buckets[i] != NULL) {
			struct event_usage *usage = usages->buckets[i];

			usages->buckets[i] = usage->next;
			free(usage);
		}
}

void event_usages_free(struct event_usages *usages)
{
	if (usages == NULL)
		return;
	forget_all(usages);
	pthread_mutex_destroy(&usages->mutex);
	free(usages);
}

/* Caller holds the mutex. NULL if nothing is counted for this user on that day. */
static struct event_usage *usage_find(struct event_usages *usages, uid_t uid, uint32_t day)
{
	struct event_usage *usage = usages->day == day ? usages->buckets[uid % BUCKETS] : NULL;

	while (usage != NULL && usage->uid != uid)
		usage = usage->next;
	return usage;
}

void event_usage_add(struct event_usages *usages, uid_t uid, uint32_t day, int64_t bytes)
{
	struct event_usage *usage;

	pthread_mutex_lock(&usages->mutex);
	if (usages->day != day)
		forget_all(usages);
	usages->day = day;
	usage = usage_find(usages, uid, day);
	if (usage == NULL) {
		usage = calloc(1, sizeof(*usage));
		if (usage != NULL) {
			usage->uid = uid;
			usage->next = usages->buckets[uid % BUCKETS];
			usages->buckets[uid % BUCKETS] = usage;
		}
	}
	if (usage != NULL && bytes < 0 && usage->bytes < (uint64_t)-bytes)
		usage->bytes = 0;
	else if (usage != NULL)
		usage->bytes += (uint64_t)bytes;
	pthread_mutex_unlock(&usages->mutex);
}

uint64_t event_usage_get(struct event_usages *usages, uid_t uid, uint32_t day)
{
	const struct event_usage *usage;
	uint64_t bytes;

	pthread_mutex_lock(&usages->mutex);
	usage = usage_find(usages, uid, day);
	bytes = usage == NULL ? 0 : usage->bytes;
	pthread_mutex_unlock(&usages->mutex);
	return bytes;
}
