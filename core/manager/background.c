#include "background.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "alarm.h"
#include "atlock/manual.h"
#include "bound.h"
#include "ends.h"
#include "health.h"
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
	alarm_due(al, rc < 0 ? clock_now(&al->clock) + RETRY_AFTER : due);
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
	[ALARM_DUE] = background_sweep,  [ALARM_GRAPH] = background_maintain,  [ALARM_OWNERS] = background_owners,
	[ALARM_ENDS] = background_retry, [ALARM_REFUSED] = background_refused, [ALARM_PROBE] = health_run,
	[ALARM_STEP] = background_step,  [ALARM_WATCH] = background_reap,
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

	rc = alarms_new(&al->alarms, watch_fd(al->watch));
	if (rc < 0)
		return rc;
	background_configured(al);
	alarm_set(al, ALARM_OWNERS, 0);
	alarm_due(al, atlock_next_due(al));
	if (ends_count(al) > 0)
		alarm_ends(al);
	/* Signals belong to the program that embeds the manager: this thread blocks them all. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&al->thread, NULL, background_main, al);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc < 0) {
		alarms_free(al->alarms);
		al->alarms = NULL;
	}
	return rc;
}

void background_stop(struct atlock *al)
{
	if (al->alarms == NULL)
		return;
	alarm_set(al, ALARM_STOP, 0);
	(void)pthread_join(al->thread, NULL);
	alarms_free(al->alarms);
	al->alarms = NULL;
}
