#include "ends.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alarm.h"
#include "atlock/manual.h"
#include "bound.h"
#include "grant.h"
#include "lock_hold.h"
#include "waits.h"
#include "watch.h"

STAILQ_HEAD(end_list, atlock_end);

struct ends {
	pthread_mutex_t mutex;  /* a leaf: protects all fields, and `claims` and `kept` of each end */
	struct end_list grants; /* not released yet */
	_Atomic size_t count;   /* of them; changed under the mutex */
};

int ends_new(struct ends **out)
{
	struct ends *ends = calloc(1, sizeof(*ends));

	if (ends == NULL)
		return -ENOMEM;
	pthread_mutex_init(&ends->mutex, NULL);
	STAILQ_INIT(&ends->grants);
	*out = ends;
	return 0;
}

void ends_free(struct ends *ends)
{
	struct atlock_end *end;

	if (ends == NULL)
		return;
	while ((end = STAILQ_FIRST(&ends->grants)) != NULL) {
		STAILQ_REMOVE_HEAD(&ends->grants, grant.link);
		free(end);
	}
	pthread_mutex_destroy(&ends->mutex);
	free(ends);
}

struct atlock_end *end_new(const struct atlock_name *lock, const struct atlock_caller *holder)
{
	size_t owner_len = strlen(holder->owner) + 1;
	size_t who_len = strlen(holder->who) + 1;
	struct atlock_end *end = malloc(offsetof(struct atlock_end, text) + lock->len + owner_len + who_len);

	if (end == NULL)
		return NULL;
	memset(end, 0, offsetof(struct atlock_end, text));
	end->uid = holder->uid;
	end->key_len = lock->len;
	memcpy(end->text, lock->key, lock->len);
	memcpy(end->text + lock->len, holder->owner, owner_len);
	memcpy(end->text + lock->len + owner_len, holder->who, who_len);
	return end;
}

void end_holder(const struct atlock_end *end, struct atlock_name *lock, struct atlock_caller *holder)
{
	const char *owner = end->text + end->key_len;

	memset(holder, 0, sizeof(*holder));
	name_from_key(lock, (struct slice){ end->text, end->key_len });
	strlcpy(holder->owner, owner, sizeof(holder->owner));
	strlcpy(holder->who, owner + strlen(owner) + 1, sizeof(holder->who));
	holder->uid = end->uid;
}

/* --- Grants --- */

static bool end_is_claimed(struct ends *ends, const struct atlock_end *end)
{
	bool claimed;

	pthread_mutex_lock(&ends->mutex);
	claimed = end->claims > 0 || end->kept;
	pthread_mutex_unlock(&ends->mutex);
	return claimed;
}

/* Whether the lock still has this grant. It may have ended otherwise, or been transferred under the same token. */
static bool end_is_of(const struct atlock_end *end, const struct record_grant *held)
{
	const char *owner = end->text + end->key_len;

	return held->token == end->grant.token && held->state != RECORD_DELAYED &&
	       (end->grant.version == 0 || held->version == end->grant.version) &&
	       slice_equal(held->holder.owner, slice_of(owner)) &&
	       slice_equal(held->holder.who, slice_of(owner + strlen(owner) + 1));
}

/* 0, or 1 if there is nothing to release. */
static int give_back_in_txn(struct op *op)
{
	const struct atlock_end *end = op->arg;
	struct slice lock = { end->text, end->key_len };
	struct record_queue queue;
	struct record_lock record;
	int rc;

	if (end_is_claimed(op->al->ends, end))
		return 1;
	rc = expire_lock_queue(op, lock, &record, &queue);
	if (rc != 0)
		return rc;
	if (!end_is_of(end, &record.grant))
		return 1;
	rc = lock_release(op, lock, &record, &queue, ATLOCK_EVENT_RELEASED);
	return rc < 0 ? rc : 0;
}

static int give_back(struct atlock *al, struct atlock_end *end)
{
	struct atlock_caller holder;
	struct atlock_name lock;

	end_holder(end, &lock, &holder);
	return op_call(al, &holder, METRICS_RELEASE, give_back_in_txn, end, NULL);
}

static void ends_keep(struct ends *ends, struct atlock_end *end)
{
	pthread_mutex_lock(&ends->mutex);
	STAILQ_INSERT_TAIL(&ends->grants, end, grant.link);
	ends->count++;
	pthread_mutex_unlock(&ends->mutex);
}

int ends_give_back(struct atlock *al, struct atlock_end *end)
{
	int rc = give_back(al, end);

	if (rc >= 0) {
		free(end);
		return rc;
	}
	ends_give_back_later(al, end);
	return rc;
}

void ends_give_back_later(struct atlock *al, struct atlock_end *end)
{
	ends_keep(al->ends, end);
	alarm_ends(al);
}

/*
 * Transactions' functions run one after another. So either the claim comes first and the grant is not released, or the claiming
 * function already sees it released and takes the lock anew.
 */
void ends_claim(struct op *op, uint64_t token)
{
	struct ends *ends = op->al->ends;
	struct atlock_end *end;

	if (atomic_load_explicit(&ends->count, memory_order_relaxed) == 0 || op->claimed == token)
		return;
	pthread_mutex_lock(&ends->mutex);
	STAILQ_FOREACH(end, &ends->grants, grant.link)
		if (end->grant.token == token) {
			end->claims++;
			op->claimed = token;
		}
	pthread_mutex_unlock(&ends->mutex);
}

void ends_claimed(struct op *op, bool done)
{
	struct ends *ends = op->al->ends;
	struct atlock_end *end;

	pthread_mutex_lock(&ends->mutex);
	STAILQ_FOREACH(end, &ends->grants, grant.link)
		if (end->grant.token == op->claimed) {
			end->claims--;
			end->kept = end->kept || done;
		}
	pthread_mutex_unlock(&ends->mutex);
	op->claimed = 0;
}

/*
 * Tries the first one again: 0 if it is written, 1 if there is none. One that fails goes to the end of the list, so that it does
 * not block the others.
 */
static int grants_run(struct atlock *al)
{
	struct ends *ends = al->ends;
	struct atlock_end *end;
	bool over;
	int rc;

	pthread_mutex_lock(&ends->mutex);
	end = STAILQ_FIRST(&ends->grants);
	pthread_mutex_unlock(&ends->mutex);
	if (end == NULL)
		return 1;
	rc = give_back(al, end);
	pthread_mutex_lock(&ends->mutex);
	over = rc >= 0 && end->claims == 0;
	STAILQ_REMOVE(&ends->grants, end, atlock_end, grant.link);
	if (over)
		ends->count--;
	else
		STAILQ_INSERT_TAIL(&ends->grants, end, grant.link);
	pthread_mutex_unlock(&ends->mutex);
	if (over)
		free(end);
	return rc < 0 ? rc : 0;
}

/* --- All of them --- */

/* As grants_run(), for processes that are gone. */
static int processes_run(struct atlock *al)
{
	uint64_t start;
	pid_t pid;
	int rc;

	if (al->watch == NULL || watch_left(al->watch, &pid, &start) == 1)
		return 1;
	rc = bound_release(al, pid, start);
	if (rc == 0)
		watch_forget(al->watch, pid, start);
	return rc;
}

/* As grants_run(), for calls that gave up. A call without a ticket is being answered. */
static int waits_run(struct atlock *al)
{
	struct notice notice = { .err = -ECANCELED, .code = ATLOCK_CANCELLED };
	int rc;

	if (waits_next_leaving(al->waits, &notice.wait) == 1)
		return 1;
	rc = waits_unqueue(al, notice.wait);
	if (rc == 0)
		waits_finish(al, &notice);
	return rc < 0 ? rc : 0;
}

size_t ends_count(struct atlock *al)
{
	return atomic_load(&al->ends->count) + waits_leaving(al->waits) +
	       (al->watch != NULL ? watch_left_count(al->watch) : 0);
}

int atlock_run_ends(struct atlock *al)
{
	static int (*const runs[])(struct atlock *) = { waits_run, processes_run, grants_run };
	size_t most;
	int total = 0;
	int failed = 0;

	if (al == NULL)
		return -EINVAL;
	/* Waits first, so that no lock is handed to a call that is gone. A pass stops a kind at its first failure. */
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		int rc = 0;

		for (most = ends_count(al); rc == 0 && most > 0; most--) {
			rc = runs[i](al);
			total += rc == 0;
		}
		if (rc < 0)
			failed = rc;
	}
	return failed < 0 ? failed : total;
}

/* --- Ends of open files --- */

struct atlock_end *atlock_end_new(const struct atlock_name *name, const struct atlock_caller *holder,
				  const struct atlock_grant *grant)
{
	struct atlock_end *end = end_new(name, holder);

	if (end != NULL)
		end->grant.token = grant->token;
	return end;
}

void atlock_end_free(struct atlock_end *end)
{
	free(end);
}

int atlock_end_write(struct atlock *al, struct atlock_end *end)
{
	return al == NULL || end == NULL ? -EINVAL : ends_give_back(al, end);
}

int atlock_disown(struct atlock *al, const struct atlock_request *req, const struct atlock_grant *grant)
{
	struct atlock_end *end;

	if (al == NULL || req == NULL || grant == NULL)
		return -EINVAL;
	end = end_new(req->name, req->caller);
	if (end == NULL)
		return atlock_release(
			al, &(struct atlock_request){ .name = req->name, .caller = req->caller, .token = grant->token },
			NULL, NULL);
	end->grant.token = grant->token;
	end->grant.version = grant->version;
	return ends_give_back(al, end);
}
