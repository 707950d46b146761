#include "park.h"

#include <bsd/string.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "op.h"
#include "why.h"

/* There may be many thousands: keep it small. */
struct parked {
	SLIST_ENTRY(parked) link;
	uint64_t number;
	atlock_done_fn *done;
	void *arg;
	int64_t began; /* see metrics_now() */
	uint16_t key_len;
	char text[]; /* the lock's key, owner, NUL, who, NUL */
};

SLIST_HEAD(bucket, parked);

#define PARK_LOAD 4 /* calls in a bucket, on average, before there are more buckets */

struct park {
	struct metrics *metrics;
	pthread_mutex_t mutex; /* a leaf: protects everything here */
	struct bucket *buckets;
	size_t cap; /* a power of two */
	size_t count;
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
	if (park->buckets == NULL) {
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
	struct parked *parked;
	size_t i;

	if (buckets == NULL)
		return;
	park->buckets = buckets;
	park->cap = cap;
	for (i = 0; i < cap / 2; i++) {
		while ((parked = SLIST_FIRST(&old[i])) != NULL) {
			SLIST_REMOVE_HEAD(&old[i], link);
			SLIST_INSERT_HEAD(park_bucket(park, parked->number), parked, link);
		}
	}
	free(old);
}

uint64_t park_add(struct park *park, const struct atlock_request *req, atlock_done_fn *done, void *arg)
{
	size_t owner_len = strlen(req->caller->owner) + 1;
	size_t who_len = strlen(req->caller->who) + 1;
	struct parked *parked = malloc(sizeof(*parked) + req->name->len + owner_len + who_len);
	uint64_t number;

	if (parked == NULL)
		return 0;
	parked->done = done;
	parked->arg = arg;
	parked->began = metrics_now();
	parked->key_len = req->name->len;
	memcpy(parked->text, req->name->key, req->name->len);
	memcpy(parked->text + req->name->len, req->caller->owner, owner_len);
	memcpy(parked->text + req->name->len + owner_len, req->caller->who, who_len);
	pthread_mutex_lock(&park->mutex);
	if (park->count >= park->cap * PARK_LOAD)
		park_grow(park);
	number = ++park->last;
	parked->number = number;
	SLIST_INSERT_HEAD(park_bucket(park, number), parked, link);
	park->count++;
	pthread_mutex_unlock(&park->mutex);
	return number;
}

/* Call with the mutex held. */
static struct parked *park_lookup(struct park *park, uint64_t number)
{
	struct parked *parked;

	SLIST_FOREACH(parked, park_bucket(park, number), link)
		if (parked->number == number)
			break;
	return parked;
}

static void parked_holder(const struct parked *parked, struct atlock_name *lock, struct atlock_caller *caller)
{
	const char *owner = parked->text + parked->key_len;

	memset(caller, 0, sizeof(*caller));
	name_from_key(lock, (struct slice){ parked->text, parked->key_len });
	strlcpy(caller->owner, owner, sizeof(caller->owner));
	strlcpy(caller->who, owner + strlen(owner) + 1, sizeof(caller->who));
}

int park_find(struct park *park, uint64_t number, struct atlock_name *lock, struct atlock_caller *caller)
{
	const struct parked *parked;

	pthread_mutex_lock(&park->mutex);
	parked = park_lookup(park, number);
	if (parked != NULL)
		parked_holder(parked, lock, caller);
	pthread_mutex_unlock(&park->mutex);
	return parked == NULL;
}

static struct parked *park_take(struct park *park, uint64_t number)
{
	struct parked *parked;

	pthread_mutex_lock(&park->mutex);
	parked = park_lookup(park, number);
	if (parked != NULL) {
		SLIST_REMOVE(park_bucket(park, number), parked, parked, link);
		park->count--;
	}
	pthread_mutex_unlock(&park->mutex);
	return parked;
}

int park_remove(struct park *park, uint64_t number)
{
	struct parked *parked = park_take(park, number);

	if (parked == NULL)
		return 1;
	free(parked);
	return 0;
}

int park_cancel(struct park *park, uint64_t number)
{
	struct parked *parked = park_take(park, number);

	if (parked == NULL)
		return 1;
	(void)metrics_count(park->metrics, METRICS_WAIT, parked->began, -ECANCELED, NULL);
	free(parked);
	return 0;
}

static const char *reason_text(enum atlock_code code)
{
	switch (code) {
	case ATLOCK_TIMEOUT:
		return "the lock did not become free in time: wait again, or longer (timeout=, option queue_timeout)";
	case ATLOCK_DEADLOCK:
		return "you waited for each other in a circle and this wait was chosen to end it: release what you hold, then try again";
	default: return "the wait was cancelled";
	}
}

/* Nobody is there for the lock any more; that it was given out before stays in the log. */
static void park_give_back(struct atlock *al, const struct parked *parked, const struct notice *notice)
{
	struct atlock_caller caller;
	struct atlock_name lock;

	parked_holder(parked, &lock, &caller);
	caller.uid = notice->uid;
	caller.bound_start = notice->start;
	(void)atlock_release(al,
			     &(struct atlock_request){ .name = &lock, .caller = &caller, .token = notice->grant.token },
			     NULL, NULL);
}

void park_finish(struct atlock *al, const struct notice *notice)
{
	struct parked *parked = park_take(al->park, notice->park);
	struct atlock_why why;

	if (parked == NULL)
		return;
	why_clear(&why);
	if (notice->err < 0)
		why_set(&why, notice->err, notice->code, "%s", reason_text(notice->code));
	(void)metrics_count(&al->metrics, METRICS_WAIT, parked->began, notice->err, &why);
	if (!parked->done(parked->arg, notice->err, notice->err == 0 ? &notice->grant : NULL, &why) && notice->err == 0)
		park_give_back(al, parked, notice);
	free(parked);
}

void park_finish_all(struct atlock *al, int err, enum atlock_code code)
{
	struct notice notice = { .err = err, .code = code };
	struct park *park = al->park;
	struct parked *parked;
	size_t i;

	for (;;) {
		pthread_mutex_lock(&park->mutex);
		for (i = 0, parked = NULL; i < park->cap && parked == NULL; i++)
			parked = SLIST_FIRST(&park->buckets[i]);
		notice.park = parked != NULL ? parked->number : 0;
		pthread_mutex_unlock(&park->mutex);
		if (notice.park == 0)
			return;
		park_finish(al, &notice);
	}
}
