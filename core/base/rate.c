#include "rate.h"

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "atlock.h"

#define BURST ATLOCK_SECOND

/*
 * A token bucket that holds one second's calls, stored as the instant at which it is full again: each call moves that
 * instant by its share of a second, at most to one second ahead of now.
 */
struct rate {
	RB_ENTRY(rate) link;
	TAILQ_ENTRY(rate) age;
	uid_t uid;
	int64_t full_at;
};

RB_HEAD(rate_tree, rate);

struct rates {
	pthread_mutex_t mutex;
	struct rate_tree users;  /* by uid, in a tree that no choice of uids makes slow; mutex, as all below */
	TAILQ_HEAD(, rate) ages; /* least recent caller first */
	size_t count;
};

static int rate_compare(const struct rate *a, const struct rate *b)
{
	return (a->uid > b->uid) - (a->uid < b->uid);
}

RB_GENERATE_INTERNAL(rate_tree, rate, link, rate_compare, __attribute__((unused)) static)

int rates_new(struct rates **out)
{
	struct rates *rates = calloc(1, sizeof(*rates));

	if (rates == NULL)
		return -ENOMEM;
	pthread_mutex_init(&rates->mutex, NULL);
	RB_INIT(&rates->users);
	TAILQ_INIT(&rates->ages);
	*out = rates;
	return 0;
}

/* Caller holds the mutex, as for the next two functions. */
static void rate_forget(struct rates *rates, struct rate *rate)
{
	RB_REMOVE(rate_tree, &rates->users, rate);
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

/* Finds or makes the user's bucket and moves it to the end of `ages`. A new one is full. NULL: no memory. */
static struct rate *rate_of(struct rates *rates, uid_t uid, int64_t now)
{
	struct rate wanted = { .uid = uid };
	struct rate *rate = RB_FIND(rate_tree, &rates->users, &wanted);

	if (rate != NULL) {
		TAILQ_REMOVE(&rates->ages, rate, age);
	} else {
		rate = calloc(1, sizeof(*rate));
		if (rate == NULL)
			return NULL;
		rate->uid = uid;
		RB_INSERT(rate_tree, &rates->users, rate);
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
	/*
	 * Each call drops at most one full bucket and adds at most one, so the table grows only while all have called
	 * within this second.
	 */
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
