#include "feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alarm.h"
#include "record.h"

#define FEED_MAX 4096 /* keys that wait; with more, it is quicker to look at everything */

struct feed {
	pthread_mutex_t mutex; /* a leaf: protects all fields */
	struct feed_key *first;
	struct feed_key **end;
	size_t count;
};

int feed_new(struct feed **out)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (feed == NULL)
		return -ENOMEM;
	pthread_mutex_init(&feed->mutex, NULL);
	feed->end = &feed->first;
	*out = feed;
	return 0;
}

/* With the mutex held. */
static void feed_empty(struct feed *feed)
{
	while (feed->first != NULL) {
		struct feed_key *key = feed->first;

		feed->first = key->next;
		free(key);
	}
	feed->end = &feed->first;
	feed->count = 0;
}

void feed_free(struct feed *feed)
{
	if (feed == NULL)
		return;
	feed_empty(feed);
	pthread_mutex_destroy(&feed->mutex);
	free(feed);
}

/* Whether the manager acts on changes of this key. */
static bool is_wanted(struct slice key)
{
	static const char tables[] = { TABLE_LOCK, TABLE_TEXT, TABLE_QUEUE, TABLE_SETTING, FEED_HOST };

	return key.len == 0 || memchr(tables, *(const char *)key.data, sizeof(tables)) != NULL;
}

/* Without memory everything is looked at when the next one comes: waiters are also looked at from time to time. */
static void feed_add(struct feed *feed, struct slice key)
{
	size_t len = feed->count < FEED_MAX ? key.len : 0;
	struct feed_key *added = malloc(sizeof(*added) + len);

	if (feed->count >= FEED_MAX)
		feed_empty(feed);
	if (added == NULL)
		return;
	added->next = NULL;
	added->len = len;
	memcpy(added->data, key.data, len);
	*feed->end = added;
	feed->end = &added->next;
	feed->count++;
}

void feed_changed(void *arg, struct slice key)
{
	struct atlock *al = arg;

	if (!is_wanted(key))
		return;
	pthread_mutex_lock(&al->feed->mutex);
	feed_add(al->feed, key);
	pthread_mutex_unlock(&al->feed->mutex);
	alarm_set(al, ALARM_FEED, 0);
}

struct feed_key *feed_take(struct feed *feed)
{
	struct feed_key *key;

	pthread_mutex_lock(&feed->mutex);
	key = feed->first;
	if (key != NULL) {
		feed->first = key->next;
		feed->count--;
		if (feed->first == NULL)
			feed->end = &feed->first;
	}
	pthread_mutex_unlock(&feed->mutex);
	return key;
}
