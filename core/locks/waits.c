#include "waits.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "alarm.h"
#include "call_holders.h"
#include "ends.h"
#include "op.h"
#include "why.h"

SLIST_HEAD(bucket, atlock_end);

#define WAITS_LOAD 4 /* average calls in a bucket before the table grows */

struct waits {
	struct metrics *metrics;
	struct call_holders *holders;
	pthread_mutex_t mutex; /* a leaf: protects all fields */
	struct bucket *buckets;
	size_t cap; /* a power of two */
	size_t count;
	size_t leaving; /* how many of them are leaving */
	uint64_t turn;  /* number at which waits_next_leaving() found the last one */
	uint64_t last;
};

int waits_new(struct waits **out, struct metrics *metrics)
{
	struct waits *waits = calloc(1, sizeof(*waits));

	if (waits == NULL)
		return -ENOMEM;
	waits->metrics = metrics;
	waits->cap = 64;
	waits->buckets = calloc(waits->cap, sizeof(*waits->buckets));
	if (waits->buckets == NULL || call_holders_new(&waits->holders) < 0) {
		free(waits->buckets);
		free(waits);
		return -ENOMEM;
	}
	pthread_mutex_init(&waits->mutex, NULL);
	*out = waits;
	return 0;
}

void waits_free(struct waits *waits)
{
	if (waits == NULL)
		return;
	pthread_mutex_destroy(&waits->mutex);
	call_holders_free(waits->holders);
	free(waits->buckets);
	free(waits);
}

static struct bucket *waits_bucket(struct waits *waits, uint64_t number)
{
	return &waits->buckets[(size_t)number & (waits->cap - 1)];
}

/* Doubles the table; without memory the table only gets slower. */
static void waits_grow(struct waits *waits)
{
	size_t cap = waits->cap * 2;
	struct bucket *old = waits->buckets;
	struct bucket *buckets = calloc(cap, sizeof(*buckets));
	struct atlock_end *blocked;
	size_t i;

	if (buckets == NULL)
		return;
	waits->buckets = buckets;
	waits->cap = cap;
	for (i = 0; i < cap / 2; i++) {
		while ((blocked = SLIST_FIRST(&old[i])) != NULL) {
			SLIST_REMOVE_HEAD(&old[i], call.link);
			SLIST_INSERT_HEAD(waits_bucket(waits, blocked->call.number), blocked, call.link);
		}
	}
	free(old);
}

uint64_t waits_add(struct waits *waits, const struct atlock_request *req, atlock_done_fn *done, void *arg)
{
	struct atlock_end *blocked = end_new(req->name, req->caller);
	uint64_t number;

	if (blocked == NULL)
		return 0;
	blocked->call.done = done;
	blocked->call.arg = arg;
	blocked->call.began = steady_now();
	pthread_mutex_lock(&waits->mutex);
	if (waits->count >= waits->cap * WAITS_LOAD)
		waits_grow(waits);
	number = ++waits->last;
	blocked->call.number = number;
	SLIST_INSERT_HEAD(waits_bucket(waits, number), blocked, call.link);
	waits->count++;
	pthread_mutex_unlock(&waits->mutex);
	return number;
}

/* Call with the mutex held. */
static struct atlock_end *waits_lookup(struct waits *waits, uint64_t number)
{
	struct atlock_end *blocked;

	SLIST_FOREACH(blocked, waits_bucket(waits, number), call.link)
		if (blocked->call.number == number)
			break;
	return blocked;
}

int waits_find(struct waits *waits, uint64_t number, struct atlock_name *lock, struct atlock_caller *caller)
{
	const struct atlock_end *blocked;

	pthread_mutex_lock(&waits->mutex);
	blocked = waits_lookup(waits, number);
	if (blocked != NULL)
		end_holder(blocked, lock, caller);
	pthread_mutex_unlock(&waits->mutex);
	return blocked == NULL;
}

bool waits_queued(struct waits *waits, uint64_t number)
{
	struct atlock_end *blocked;
	bool poked = false;

	pthread_mutex_lock(&waits->mutex);
	blocked = waits_lookup(waits, number);
	if (blocked != NULL) {
		blocked->queued = true;
		poked = blocked->poked;
	}
	pthread_mutex_unlock(&waits->mutex);
	return poked;
}

static bool waits_for(const struct atlock_end *blocked, struct slice lock)
{
	return lock.len == 0 || (lock.len == blocked->key_len && memcmp(lock.data, blocked->text, lock.len) == 0);
}

int waits_about(struct waits *waits, struct slice lock, uint64_t **out)
{
	struct atlock_end *blocked;
	uint64_t *numbers;
	int count = 0;

	pthread_mutex_lock(&waits->mutex);
	numbers = reallocarray(NULL, waits->count + 1, sizeof(*numbers));
	for (size_t i = 0; i < waits->cap && numbers != NULL; i++) {
		SLIST_FOREACH(blocked, &waits->buckets[i], call.link) {
			if (!waits_for(blocked, lock))
				continue;
			if (blocked->queued)
				numbers[count++] = blocked->call.number;
			else
				blocked->poked = true;
		}
	}
	pthread_mutex_unlock(&waits->mutex);
	*out = numbers;
	return numbers == NULL ? -ENOMEM : count;
}

static struct atlock_end *waits_take(struct waits *waits, uint64_t number)
{
	struct atlock_end *blocked;

	pthread_mutex_lock(&waits->mutex);
	blocked = waits_lookup(waits, number);
	if (blocked != NULL) {
		SLIST_REMOVE(waits_bucket(waits, number), blocked, atlock_end, call.link);
		waits->count--;
		waits->leaving -= blocked->leaving;
	}
	pthread_mutex_unlock(&waits->mutex);
	if (blocked != NULL) {
		call_holders_remove(waits->holders, blocked->call.holders);
		blocked->call.holders = NULL;
	}
	return blocked;
}

struct call_holders *waits_holders(struct waits *waits)
{
	return waits->holders;
}

int waits_stand(struct waits *waits, uint64_t number, const struct atlock_caller *holders, size_t n)
{
	struct call_holders_entry *call = call_holders_add(waits->holders, number, holders, n);
	struct atlock_end *blocked;

	if (call == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&waits->mutex);
	blocked = waits_lookup(waits, number);
	if (blocked != NULL && blocked->call.holders == NULL) {
		blocked->call.holders = call;
		call = NULL;
	}
	pthread_mutex_unlock(&waits->mutex);
	call_holders_remove(waits->holders, call);
	return blocked == NULL;
}

int waits_remove(struct waits *waits, uint64_t number)
{
	struct atlock_end *blocked = waits_take(waits, number);

	if (blocked == NULL)
		return 1;
	free(blocked);
	return 0;
}

int waits_cancel(struct waits *waits, uint64_t number)
{
	struct atlock_end *blocked = waits_take(waits, number);

	if (blocked == NULL)
		return 1;
	(void)metrics_count(waits->metrics, METRICS_WAIT, blocked->call.began, -ECANCELED, NULL);
	free(blocked);
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

/* The caller did not take the lock: releases it. The event of the grant stays in the log. Frees `blocked`. */
static void waits_give_back(struct atlock *al, struct atlock_end *blocked, const struct notice *notice)
{
	blocked->grant.token = notice->grant.token;
	blocked->grant.version = notice->grant.version;
	(void)ends_give_back(al, blocked);
}

/* Whether another call of the same holder waits for the same lock: a grant answers all of them. */
static bool waits_has_twin(struct waits *waits, const struct atlock_end *blocked)
{
	size_t owner = strlen(blocked->text + blocked->key_len) + 1;
	size_t len = blocked->key_len + owner + strlen(blocked->text + blocked->key_len + owner) + 1;
	const struct atlock_end *other;
	bool found = false;

	pthread_mutex_lock(&waits->mutex);
	for (size_t i = 0; i < waits->cap && !found; i++)
		SLIST_FOREACH(other, &waits->buckets[i], call.link)
			found = found || (other->key_len == blocked->key_len && !other->doubtful &&
					  memcmp(other->text, blocked->text, len) == 0);
	pthread_mutex_unlock(&waits->mutex);
	return found;
}

/* The call has its answer already. Frees `blocked`. */
static void waits_finish_doubtful(struct atlock *al, struct atlock_end *blocked, const struct notice *notice)
{
	if (notice->err == 0 && !waits_has_twin(al->waits, blocked))
		waits_give_back(al, blocked, notice);
	else
		free(blocked);
}

void waits_finish(struct atlock *al, const struct notice *notice)
{
	struct atlock_end *blocked = waits_take(al->waits, notice->wait);
	struct atlock_why why;

	if (blocked == NULL)
		return;
	if (blocked->doubtful) {
		waits_finish_doubtful(al, blocked, notice);
		return;
	}
	why_clear(&why);
	if (notice->err < 0)
		why_set(&why, notice->err, notice->code, "%s",
			notice->reason != NULL ? notice->reason : reason_text(notice->code));
	(void)metrics_count(&al->metrics, METRICS_WAIT, blocked->call.began, notice->err, &why);
	if (!blocked->call.done(blocked->call.arg, notice->err, notice->err == 0 ? &notice->grant : NULL, &why) &&
	    notice->err == 0)
		waits_give_back(al, blocked, notice);
	else
		free(blocked);
}

/* --- Calls that could not be cancelled --- */

void waits_leave(struct atlock *al, uint64_t number)
{
	struct waits *waits = al->waits;
	struct atlock_end *blocked;

	pthread_mutex_lock(&waits->mutex);
	blocked = waits_lookup(waits, number);
	if (blocked != NULL && !blocked->leaving) {
		blocked->leaving = true;
		waits->leaving++;
	}
	pthread_mutex_unlock(&waits->mutex);
	if (blocked != NULL)
		alarm_ends(al);
}

int waits_doubt(struct atlock *al, uint64_t number)
{
	struct atlock_end *blocked;

	pthread_mutex_lock(&al->waits->mutex);
	blocked = waits_lookup(al->waits, number);
	if (blocked != NULL)
		blocked->doubtful = true;
	pthread_mutex_unlock(&al->waits->mutex);
	waits_leave(al, number);
	return blocked == NULL;
}

bool waits_is_doubtful(struct waits *waits, uint64_t number)
{
	const struct atlock_end *blocked;
	bool doubtful;

	pthread_mutex_lock(&waits->mutex);
	blocked = waits_lookup(waits, number);
	doubtful = blocked != NULL && blocked->doubtful;
	pthread_mutex_unlock(&waits->mutex);
	return doubtful;
}

int waits_next_leaving(struct waits *waits, uint64_t *number)
{
	struct atlock_end *blocked = NULL;
	size_t i;

	pthread_mutex_lock(&waits->mutex);
	for (i = 0; i < waits->cap && waits->leaving > 0 && blocked == NULL; i++) {
		waits->turn++;
		SLIST_FOREACH(blocked, waits_bucket(waits, waits->turn), call.link)
			if (blocked->leaving)
				break;
	}
	if (blocked != NULL)
		*number = blocked->call.number;
	pthread_mutex_unlock(&waits->mutex);
	return blocked == NULL;
}

size_t waits_leaving(struct waits *waits)
{
	size_t leaving;

	pthread_mutex_lock(&waits->mutex);
	leaving = waits->leaving;
	pthread_mutex_unlock(&waits->mutex);
	return leaving;
}

void waits_finish_all(struct atlock *al, int err, enum atlock_code code)
{
	struct notice notice = { .err = err, .code = code };
	struct waits *waits = al->waits;
	struct atlock_end *blocked;
	size_t i;

	for (;;) {
		pthread_mutex_lock(&waits->mutex);
		for (i = 0, blocked = NULL; i < waits->cap && blocked == NULL; i++)
			blocked = SLIST_FIRST(&waits->buckets[i]);
		notice.wait = blocked != NULL ? blocked->call.number : 0;
		pthread_mutex_unlock(&waits->mutex);
		if (notice.wait == 0)
			return;
		waits_finish(al, &notice);
	}
}
