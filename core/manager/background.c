#include "background.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alarm.h"
#include "atlock/manual.h"
#include "bound.h"
#include "config.h"
#include "ends.h"
#include "event_log.h"
#include "feed.h"
#include "health.h"
#include "hosts.h"
#include "lease.h"
#include "log.h"
#include "watch.h"

#define RETRY_AFTER ATLOCK_SECOND /* for what failed, on a full disk for example */

static void background_retry(struct atlock *al)
{
	int rc = atlock_run_ends(al);

	if (ends_count(al) > 0)
		alarm_ends(al);
	else if (rc > 0)
		log_write(al, ATLOCK_LOG_WARNING, "all ends are written that the store could not write before");
}

/* The process is gone: ends the locks and tickets bound to it, now or later. */
static void background_gone(struct atlock *al, pid_t pid, uint64_t start)
{
	int rc = bound_release(al, pid, start);

	if (rc == 0) {
		watch_forget(al->watch, pid, start);
		return;
	}
	log_write(al, ATLOCK_LOG_ERROR, "process %jd is gone and its locks could not be released: %s; tried again",
		  (intmax_t)pid, strerror(-rc));
	alarm_ends(al);
}

void background_bind(struct atlock *al, pid_t pid, uint64_t start)
{
	int rc = al->watch != NULL ? watch_bind(al->watch, pid, start) : 0;

	if (rc == -ESRCH)
		background_gone(al, pid, start);
	else if (rc < 0)
		alarm_ends(al);
}

/* Ends what is due and sets the alarm for the next deadline. */
static void background_sweep(struct atlock *al)
{
	int64_t due = ATLOCK_NEVER;
	int rc;

	rc = atlock_run_due(al);
	if (rc > 0)
		log_write(al, ATLOCK_LOG_DEBUG, "%d leases, tickets or claims have ended", rc);
	if (rc >= 0)
		rc = lease_next_due(al, &due);
	/* Deadlines that another host sets come without an alarm. */
	if ((rc < 0 || al->shared) && due > clock_now(&al->clock) + RETRY_AFTER)
		due = clock_now(&al->clock) + RETRY_AFTER;
	alarm_due(al, due);
}

void background_configured(struct atlock *al)
{
	alarm_set(al, ALARM_GRAPH, state_options(al)->deadlock_interval);
	alarm_set(al, ALARM_OWNERS, state_options(al)->owners_interval);
}

static void background_maintain(struct atlock *al)
{
	int rc = atlock_run_deadlock(al);

	health_searched(al, rc < 0 ? rc : 0);
	if (rc > 0)
		log_write(al, ATLOCK_LOG_INFO, "%d waits were ended that waited for each other in a circle", rc);
	rc = atlock_run_prune(al);
	if (rc > 0)
		log_write(al, ATLOCK_LOG_INFO, "%d events older than events_keep were removed", rc);
	/* Bounds the age of a copy that is made of the store's main file alone. */
	(void)store_flush(al->store);
	alarm_set(al, ALARM_GRAPH, state_options(al)->deadlock_interval);
}

static void announce(struct atlock *al, enum atlock_change what, struct slice lock)
{
	struct atlock_name name;

	name_from_key(&name, lock);
	if (al->on_change != NULL)
		al->on_change(al->change_arg, what, &name);
}

/* Releases what was bound to hosts that are gone. */
static int background_hosts(struct atlock *al)
{
	int rc = hosts_sweep(al);

	if (rc > 0)
		log_write(al, ATLOCK_LOG_WARNING, "%d locks or waits of hosts that are gone were ended", rc);
	return rc < 0 ? rc : hosts_answer(al, (struct slice){ "", 0 });
}

/* Acts on a key that another host has changed. 0 or a negative errno. */
static int background_changed(struct atlock *al, struct slice key)
{
	struct slice rest = { (const unsigned char *)key.data + 1, key.len - 1 };

	switch (key.len == 0 ? 0 : *(const char *)key.data) {
	case TABLE_LOCK: announce(al, ATLOCK_CHANGE_END, rest); return hosts_answer(al, rest);
	case TABLE_TEXT: announce(al, ATLOCK_CHANGE_LOCK, rest); return 0;
	case TABLE_QUEUE: announce(al, ATLOCK_CHANGE_QUEUE, rest); return hosts_answer(al, rest);
	case TABLE_SETTING: return config_resume(al, NULL);
	default: return background_hosts(al);
	}
}

int atlock_run_feed(struct atlock *al)
{
	struct feed_key *key;
	int failed = al == NULL ? -EINVAL : 0;

	while (failed == 0 && (key = feed_take(al->feed)) != NULL) {
		failed = background_changed(al, (struct slice){ key->data, key->len });
		free(key);
		/* What failed is not known any more: look at everything, later. */
		if (failed < 0)
			feed_changed(al, (struct slice){ "", 0 });
	}
	return failed;
}

static void background_feed(struct atlock *al)
{
	if (atlock_run_feed(al) < 0)
		alarm_set(al, ALARM_FEED, RETRY_AFTER);
}

void background_breaker(void *arg, bool closed)
{
	struct atlock *al = arg;
	int64_t none = 0;

	log_write(al, ATLOCK_LOG_WARNING,
		  closed ? "the engine of the store answers again"
			 : "the engine of the store does not answer: calls fail at once until it does");
	if (!closed)
		(void)atomic_compare_exchange_strong(&al->engine_down, &none, clock_now(&al->clock));
	else
		alarm_set(al, ALARM_ENGINE, 0);
}

static int engine_in_txn(struct op *op)
{
	char since[64];
	int rc;

	atlock_instant_print(op->al, *(const int64_t *)op->arg, since, sizeof(since));
	rc = event_other(op, ATLOCK_EVENT_ENGINE_DOWN, since);
	return rc == 0 ? event_other(op, ATLOCK_EVENT_ENGINE_UP, "") : rc;
}

/* Both events are written when it is back: there is nowhere to write the first one to before. */
static void background_engine(struct atlock *al)
{
	int64_t since = atomic_load(&al->engine_down);

	if (since == 0)
		return;
	if (op_call(al, NULL, METRICS_NONE, engine_in_txn, &since, NULL) < 0)
		alarm_set(al, ALARM_ENGINE, RETRY_AFTER);
	else
		(void)atomic_compare_exchange_strong(&al->engine_down, &since, 0);
}

static void background_owners(struct atlock *al)
{
	int rc = atlock_run_owners(al);

	if (rc > 0)
		log_write(al, ATLOCK_LOG_WARNING, "%d URLs below owners/ had leftovers that were set right", rc);
	alarm_set(al, ALARM_OWNERS, state_options(al)->owners_interval);
}

static void background_reap(struct atlock *al)
{
	uint64_t start;
	pid_t pid;

	while (watch_reap(al->watch, &pid, &start) == 0)
		background_gone(al, pid, start);
}

static void background_refused(struct atlock *al)
{
	(void)atlock_run_refused(al);
}

static void background_step(struct atlock *al)
{
	log_write(al, ATLOCK_LOG_WARNING, "the wall clock was set; leases go on as they were");
	(void)lease_note_clock(al);
}

static void (*const tasks[])(struct atlock *al) = {
	[ALARM_DUE] = background_sweep,     [ALARM_GRAPH] = background_maintain,  [ALARM_OWNERS] = background_owners,
	[ALARM_ENDS] = background_retry,    [ALARM_REFUSED] = background_refused, [ALARM_PROBE] = health_run,
	[ALARM_STEP] = background_step,     [ALARM_WATCH] = background_reap,      [ALARM_FEED] = background_feed,
	[ALARM_ENGINE] = background_engine,
};

static void *background_main(void *arg)
{
	struct atlock *al = arg;
	int what;

	while ((what = alarms_wait(al->alarms)) > ALARM_STOP)
		tasks[what](al);
	return NULL;
}

int background_start(struct atlock *al)
{
	sigset_t all;
	sigset_t old;
	int rc;

	background_configured(al);
	alarm_set(al, ALARM_OWNERS, 0);
	alarm_due(al, al->shared ? 0 : atlock_next_due(al));
	if (al->shared)
		alarm_set(al, ALARM_FEED, 0);
	if (ends_count(al) > 0)
		alarm_ends(al);
	/* Signals belong to the program that embeds the manager: this thread blocks them all. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&al->thread, NULL, background_main, al);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	al->background = rc == 0;
	return rc;
}

void background_stop(struct atlock *al)
{
	if (!al->background)
		return;
	alarm_set(al, ALARM_STOP, 0);
	(void)pthread_join(al->thread, NULL);
	al->background = false;
}
