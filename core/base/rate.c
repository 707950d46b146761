#include "rate.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "atlock.h"

#define BUCKETS 1024
#define BURST ATLOCK_SECOND

/*
 * A bucket of one second's calls, as the instant at which it would be full again: each call moves that by its share of a second,
 * and may not move it further than a second ahead.
 */
struct rate {
	LIST_ENTRY(rate) bucket;
	TAILQ_ENTRY(rate) age;
	uid_t uid;
	int64_t full_at;
};

LIST_HEAD(bucket, rate);

struct rates {
	pthread_mutex_t mutex;
	struct bucket buckets[BUCKETS]; /* mutex, as all below; by uid */
	TAILQ_HEAD(, rate) ages;        /* who called last is last */
	size_t count;
};

int rates_new(struct rates **out)
{
	struct rates *rates = calloc(1, sizeof(*rates));

	if (rates == NULL)
		return -ENOMEM;
	pthread_mutex_init(&rates->mutex, NULL);
	TAILQ_INIT(&rates->ages);
	*out = rates;
	return 0;
}

/* With the mutex held, as the next two. */
static void rate_forget(struct rates *rates, struct rate *rate)
{
	LIST_REMOVE(rate, bucket);
	TAILQ_REMOVE(&rates->ages, rate, age);
	rates->count--;
	free(rate);
}

void rates_free(struct rates *rates)
{
	struct rate *rate;
	struct rate *next;

	if (rates == NULL)
		return;
	TAILQ_FOREACH_SAFE(rate, &rates->ages, age, next)
		free(rate);
	pthread_mutex_destroy(&rates->mutex);
	free(rates);
}

/* The user's, which is the newest then. A new one is full. NULL without memory. */
static struct rate *rate_of(struct rates *rates, uid_t uid, int64_t now)
{
	struct bucket *bucket = &rates->buckets[uid % BUCKETS];
	struct rate *rate;

	LIST_FOREACH(rate, bucket, bucket)
		if (rate->uid == uid)
			break;
	if (rate != NULL) {
		TAILQ_REMOVE(&rates->ages, rate, age);
	} else {
		rate = calloc(1, sizeof(*rate));
		if (rate == NULL)
			return NULL;
		rate->uid = uid;
		LIST_INSERT_HEAD(bucket, rate, bucket);
		rates->count++;
	}
	TAILQ_INSERT_TAIL(&rates->ages, rate, age);
	if (rate->full_at < now)
		rate->full_at = now;
	return rate;
}

bool rates_take(struct rates *rates, uid_t uid, int64_t share, int64_t now)
{
	struct rate *oldest;
	struct rate *rate;
	bool taken;

	pthread_mutex_lock(&rates->mutex);
	/* One goes for each that may come, so there are only more of them while all have called in this second. */
	oldest = TAILQ_FIRST(&rates->ages);
	if (oldest != NULL && oldest->full_at <= now)
		rate_forget(rates, oldest);
	rate = rate_of(rates, uid, now);
	taken = rate != NULL && rate->full_at + share <= now + BURST;
	if (taken)
		rate->full_at += share;
	pthread_mutex_unlock(&rates->mutex);
	return taken;
}

size_t rates_count(struct rates *rates)
{
	size_t count;

	pthread_mutex_lock(&rates->mutex);
	count = rates->count;
	pthread_mutex_unlock(&rates->mutex);
	return count;
}
