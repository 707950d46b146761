#include "park.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "alarm.h"
#include "behind.h"
#include "ends.h"
#include "op.h"
#include "why.h"

SLIST_HEAD(bucket, atlock_end);

#define PARK_LOAD 4 /* calls in a bucket, on average, before there are more buckets */

struct park {
	struct metrics *metrics;
	struct behind *behind;
	pthread_mutex_t mutex; /* a leaf: protects everything here */
	struct bucket *buckets;
	size_t cap; /* a power of two */
	size_t count;
	size_t leaving; /* of them */
	uint64_t turn;  /* where the last one was found */
	uint64_t last;
};

int park_new(struct park **out, struct metrics *metrics)
{
	struct park *park = calloc(1, sizeof(*park));

	if (park == NULL)
		return -ENOMEM;
	park->metrics = metrics;
	park->cap = 64;
	park->buckets = calloc(park->cap, sizeof(*park->buckets));
	if (park->buckets == NULL || behind_new(&park->behind) < 0) {
		free(park->buckets);
		free(park);
		return -ENOMEM;
	}
	pthread_mutex_init(&park->mutex, NULL);
	*out = park;
	return 0;
}

void park_free(struct park *park)
{
	if (park == NULL)
		return;
	pthread_mutex_destroy(&park->mutex);
	behind_free(park->behind);
	free(park->buckets);
	free(park);
}

static struct bucket *park_bucket(struct park *park, uint64_t number)
{
	return &park->buckets[(size_t)number & (park->cap - 1)];
}

/* Doubles the table; without memory it just gets slower. */
static void park_grow(struct park *park)
{
	size_t cap = park->cap * 2;
	struct bucket *old = park->buckets;
	struct bucket *buckets = calloc(cap, sizeof(*buckets));
	struct atlock_end *parked;
	size_t i;

	if (buckets == NULL)
		return;
	park->buckets = buckets;
	park->cap = cap;
	for (i = 0; i < cap / 2; i++) {
		while ((parked = SLIST_FIRST(&old[i])) != NULL) {
			SLIST_REMOVE_HEAD(&old[i], call.link);
			SLIST_INSERT_HEAD(park_bucket(park, parked->call.number), parked, call.link);
		}
	}
	free(old);
}

uint64_t park_add(struct park *park, const struct atlock_request *req, atlock_done_fn *done, void *arg)
{
	struct atlock_end *parked = end_new(req->name, req->caller);
	uint64_t number;

	if (parked == NULL)
		return 0;
	parked->call.done = done;
	parked->call.arg = arg;
	parked->call.began = metrics_now();
	pthread_mutex_lock(&park->mutex);
	if (park->count >= park->cap * PARK_LOAD)
		park_grow(park);
	number = ++park->last;
	parked->call.number = number;
	SLIST_INSERT_HEAD(park_bucket(park, number), parked, call.link);
	park->count++;
	pthread_mutex_unlock(&park->mutex);
	return number;
}

/* Call with the mutex held. */
static struct atlock_end *park_lookup(struct park *park, uint64_t number)
{
	struct atlock_end *parked;

	SLIST_FOREACH(parked, park_bucket(park, number), call.link)
		if (parked->call.number == number)
			break;
	return parked;
}

int park_find(struct park *park, uint64_t number, struct atlock_name *lock, struct atlock_caller *caller)
{
	const struct atlock_end *parked;

	pthread_mutex_lock(&park->mutex);
	parked = park_lookup(park, number);
	if (parked != NULL)
		end_holder(parked, lock, caller);
	pthread_mutex_unlock(&park->mutex);
	return parked == NULL;
}

static struct atlock_end *park_take(struct park *park, uint64_t number)
{
	struct atlock_end *parked;

	pthread_mutex_lock(&park->mutex);
	parked = park_lookup(park, number);
	if (parked != NULL) {
		SLIST_REMOVE(park_bucket(park, number), parked, atlock_end, call.link);
		park->count--;
		park->leaving -= parked->leaving;
	}
	pthread_mutex_unlock(&park->mutex);
	if (parked != NULL) {
		behind_remove(park->behind, parked->call.behind);
		parked->call.behind = NULL;
	}
	return parked;
}

struct behind *park_behind(struct park *park)
{
	return park->behind;
}

int park_stand(struct park *park, uint64_t number, const struct atlock_caller *holders, size_t n)
{
	struct behind_call *call = behind_add(park->behind, number, holders, n);
	struct atlock_end *parked;

	if (call == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&park->mutex);
	parked = park_lookup(park, number);
	if (parked != NULL && parked->call.behind == NULL) {
		parked->call.behind = call;
		call = NULL;
	}
	pthread_mutex_unlock(&park->mutex);
	behind_remove(park->behind, call);
	return parked == NULL;
}

int park_remove(struct park *park, uint64_t number)
{
	struct atlock_end *parked = park_take(park, number);

	if (parked == NULL)
		return 1;
	free(parked);
	return 0;
}

int park_cancel(struct park *park, uint64_t number)
{
	struct atlock_end *parked = park_take(park, number);

	if (parked == NULL)
		return 1;
	(void)metrics_count(park->metrics, METRICS_WAIT, parked->call.began, -ECANCELED, NULL);
	free(parked);
	return 0;
}

static const char *reason_text(enum atlock_code code)
{
	switch (code) {
	case ATLOCK_TIMEOUT:
		return "the lock did not become free in time: wait again, or longer (timeout=, option queue_timeout)";
	case ATLOCK_DEADLOCK: return "a deadlock was ended by ending this wait: release what you hold, then try again";
	default: return "the wait was cancelled";
	}
}

/* The caller did not take the lock; that it was granted stays in the log. Frees `parked`. */
static void park_give_back(struct atlock *al, struct atlock_end *parked, const struct notice *notice)
{
	parked->grant.token = notice->grant.token;
	parked->grant.version = notice->grant.version;
	(void)ends_give_back(al, parked);
}

void park_finish(struct atlock *al, const struct notice *notice)
{
	struct atlock_end *parked = park_take(al->park, notice->park);
	struct atlock_why why;

	if (parked == NULL)
		return;
	why_clear(&why);
	if (notice->err < 0)
		why_set(&why, notice->err, notice->code, "%s",
			notice->reason != NULL ? notice->reason : reason_text(notice->code));
	(void)metrics_count(&al->metrics, METRICS_WAIT, parked->call.began, notice->err, &why);
	if (!parked->call.done(parked->call.arg, notice->err, notice->err == 0 ? &notice->grant : NULL, &why) &&
	    notice->err == 0)
		park_give_back(al, parked, notice);
	else
		free(parked);
}

/* --- Calls that could not be cancelled --- */

void park_leave(struct atlock *al, uint64_t number)
{
	struct park *park = al->park;
	struct atlock_end *parked;

	pthread_mutex_lock(&park->mutex);
	parked = park_lookup(park, number);
	if (parked != NULL && !parked->leaving) {
		parked->leaving = true;
		park->leaving++;
	}
	pthread_mutex_unlock(&park->mutex);
	if (parked != NULL)
		alarm_ends(al);
}

int park_next_leaving(struct park *park, uint64_t *number)
{
	struct atlock_end *parked = NULL;
	size_t i;

	pthread_mutex_lock(&park->mutex);
	for (i = 0; i < park->cap && park->leaving > 0 && parked == NULL; i++) {
		park->turn++;
		SLIST_FOREACH(parked, park_bucket(park, park->turn), call.link)
			if (parked->leaving)
				break;
	}
	if (parked != NULL)
		*number = parked->call.number;
	pthread_mutex_unlock(&park->mutex);
	return parked == NULL;
}

size_t park_leaving(struct park *park)
{
	size_t leaving;

	pthread_mutex_lock(&park->mutex);
	leaving = park->leaving;
	pthread_mutex_unlock(&park->mutex);
	return leaving;
}

void park_finish_all(struct atlock *al, int err, enum atlock_code code)
{
	struct notice notice = { .err = err, .code = code };
	struct park *park = al->park;
	struct atlock_end *parked;
	size_t i;

	for (;;) {
		pthread_mutex_lock(&park->mutex);
		for (i = 0, parked = NULL; i < park->cap && parked == NULL; i++)
			parked = SLIST_FIRST(&park->buckets[i]);
		notice.park = parked != NULL ? parked->call.number : 0;
		pthread_mutex_unlock(&park->mutex);
		if (notice.park == 0)
			return;
		park_finish(al, &notice);
	}
}
