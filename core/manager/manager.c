/* The manager as a whole: opens, resumes where the last one stopped, closes. */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "after.h"
#include "alarm.h"
#include "arrival.h"
#include "atlock/manual.h"
#include "background.h"
#include "bound.h"
#include "comm.h"
#include "config.h"
#include "cut_off.h"
#include "dir_paths.h"
#include "disable.h"
#include "ends.h"
#include "event_chains.h"
#include "event_log.h"
#include "event_merge.h"
#include "event_usage.h"
#include "feed.h"
#include "format.h"
#include "health.h"
#include "hook.h"
#include "kept.h"
#include "lease.h"
#include "limit.h"
#include "log.h"
#include "owed.h"
#include "position.h"
#include "process.h"
#include "publish.h"
#include "rate.h"
#include "refusal.h"
#include "seal.h"
#include "session.h"
#include "space.h"
#include "state.h"
#include "tally.h"
#include "users.h"
#include "waits.h"
#include "watch.h"
#include "why.h"

/* --- Opening --- */

/* Passes a test's clock to the store. */
struct test_clock {
	struct store_clock store;
	void (*read)(void *arg, struct atlock_time *out);
	void *arg;
};

static void test_clock_read(void *arg, struct store_time *out)
{
	const struct test_clock *clock = arg;
	struct atlock_time time;

	clock->read(clock->arg, &time);
	out->steady = time.steady;
	out->wall = time.wall;
}

/* Resumes where the last manager stopped: sets the clock, and skips numbers that a lost commit may have given out. */
static int resume_in_txn(struct op *op)
{
	struct record_key key = record_key_meta("counter");
	struct record_counter counter;
	int rc;

	rc = op_tail(op);
	if (rc < 0)
		return rc;
	clock_start(&op->al->clock, op->al->store, op->tail.time, op->tail.offset);
	clock_read(&op->al->clock, &op->now, &op->wall);
	op->al->opened = op->wall;
	op->al->health->offset = op->wall - op->now;
	if (op->al->readonly)
		return 0;
	/* Older versions did not count these. */
	if (op->tail.seq > 0 && op->tail.events == 0) {
		rc = event_count_bytes(op, &op->tail.events);
		if (rc == 0)
			rc = owed_count(op, &op->tail.owed);
		if (rc < 0)
			return rc;
	}
	rc = op_get(op, RECORD_COUNTER, &key, &counter);
	if (rc == 0 && counter.next < counter.ceiling) {
		counter.next = counter.ceiling;
		store_txn_sync(op->txn);
		rc = op_put(op, RECORD_COUNTER, &key, &counter);
	}
	return rc < 0 ? rc : event_other(op, ATLOCK_EVENT_OPENED, "");
}

/* The daemon itself as caller, for the events of its start and end. */
static void manager_self(struct atlock *al, struct atlock_caller *out)
{
	memset(out, 0, sizeof(*out));
	out->uid = geteuid();
	out->pid = getpid();
	if (users_name(al->users, out->uid, out->owner) < 0)
		out->owner[0] = '\0';
	atlock_caller_look(al, out);
}

/* Sets the clock from what can still be read; a store to be repaired gets nothing else. */
static int repair_in_txn(struct op *op)
{
	int64_t last;
	int64_t offset;
	int rc = op_tail(op);

	if (rc == 0 && op->tail.seq > 0) {
		last = op->tail.time;
		offset = op->tail.offset;
	} else {
		rc = lease_last(op, &last, &offset);
	}
	if (rc < 0)
		return rc;
	clock_start(&op->al->clock, op->al->store, last, offset);
	return 0;
}

static int manager_resume(struct atlock *al, struct atlock_why *why)
{
	struct atlock_caller self;
	struct op op;
	int rc;

	if (al->shared && (al->readonly || al->repair))
		return why_set(why, -ENOTSUP, ATLOCK_INVALID_REQUEST,
			       "a store that several hosts share is read through a mount of it");
	if (al->shared && al->seal != NULL)
		return why_set(
			why, -ENOTSUP, ATLOCK_INVALID_REQUEST,
			"key_file: texts of a store that several hosts share cannot be encrypted yet: leave it out");
	manager_self(al, &self);
	clock_start(&al->clock, al->store, 0, 0);
	rc = format_open(al, why);
	if (rc == 0)
		rc = seal_start(al, why);
	if (rc == -EIO && al->repair)
		rc = 0;
	if (rc < 0)
		return rc;
	if (al->repair) {
		return op_look(al, repair_in_txn, NULL, why);
	}
	rc = event_chains_look(al, why);
	if (rc < 0)
		return rc;
	op_init(&op, al, &self, why);
	rc = al->readonly ? op_view(&op, resume_in_txn) : op_run(&op, resume_in_txn);
	if (rc == 0)
		rc = config_resume(al, why);
	if (rc == 0 && !al->readonly)
		rc = seal_renew(al, why);
	if (rc < 0 || al->readonly)
		return rc;
	rc = bound_recover(al);
	if (rc == 0)
		rc = disable_apply_open(al);
	return rc < 0 ? why_set(why, rc, ATLOCK_BACKEND_ERROR, "the store cannot be recovered: %s", strerror(-rc)) : 0;
}

/* Prepares everything that needs no store. */
static int manager_prepare(struct atlock *al, const struct atlock_setup *setup, struct atlock_why *why)
{
	struct atlock_options options;
	uint32_t boot = 0;
	int rc;

	if (setup->options != NULL)
		options = *setup->options;
	else
		atlock_options_init(&options);
	rc = atlock_options_check(&options, why);
	if (rc < 0)
		return rc;
	al->after = after_op;
	al->on_change = setup->on_change;
	al->on_cut = setup->on_cut;
	al->change_arg = setup->change_arg;
	al->log = setup->log;
	al->log_arg = setup->log_arg;
	al->readonly = setup->readonly;
	al->repair = setup->repair;
	if (setup->host != NULL)
		(void)strlcpy(al->host, setup->host, sizeof(al->host));
	else if (gethostname(al->host, sizeof(al->host) - 1) != 0)
		(void)strlcpy(al->host, "localhost", sizeof(al->host));
	if (setup->seed != 0)
		al->random = setup->seed;
	else
		arc4random_buf(&al->random, sizeof(al->random));
	al->instance = state_random(al);
	rc = config_start(al, &options);
	if (rc == 0)
		rc = process_boot_tag(&boot);
	al->boot = boot;
	if (rc == 0)
		rc = feed_new(&al->feed);
	if (rc == 0)
		rc = merges_new(&al->merges);
	al->sees_processes = process_proc_is_ours() == 0;
	if (rc == 0)
		rc = users_new(&al->users, NULL);
	if (rc == 0)
		rc = health_new(&al->health);
	if (rc == 0)
		rc = rates_new(&al->rates);
	if (rc == 0)
		rc = tallies_new(&al->tallies);
	if (rc == 0)
		rc = kept_new(&al->kept);
	if (rc == 0)
		rc = event_usages_new(&al->event_usages);
	if (rc == 0)
		rc = sessions_new(&al->sessions);
	if (rc == 0)
		rc = comms_new(&al->comms);
	if (rc == 0)
		rc = refusals_new(&al->refusals);
	if (rc == 0)
		rc = waits_new(&al->waits, &al->metrics);
	if (rc == 0)
		rc = positions_new(&al->positions);
	if (rc == 0)
		rc = dir_paths_new(&al->dir_paths);
	if (rc == 0)
		rc = ends_new(&al->ends);
	if (rc == 0)
		rc = cut_off_new(&al->cut_off);
	if (rc == 0 && !setup->manual && !setup->readonly && !setup->repair)
		rc = watch_new(&al->watch);
	/* Threads of the engine set alarms, too: these are there before it is opened, and until it is closed. */
	if (rc == 0 && al->watch != NULL)
		rc = alarms_new(&al->alarms, watch_fd(al->watch));
	return rc < 0 ? why_set(why, rc, ATLOCK_BACKEND_ERROR, "cannot start: %s", strerror(-rc)) : 0;
}

static int manager_store(struct atlock *al, const char *uri, const struct atlock_setup *setup, struct atlock_why *why)
{
	struct test_clock *clock = NULL;
	struct store_options options = {
		.sync = state_options(al)->sync == ATLOCK_SYNC_OFF ? STORE_SYNC_OFF : STORE_SYNC_COMMIT,
		.check = setup->repair,
		.readonly = setup->readonly,
		.max_bytes = setup->store_max_bytes,
		.owner = setup->store_owner,
		.engine = setup->store_engine,
		.engine_arg = setup->store_engine_arg,
		.share = &al->share,
	};
	char text[sizeof(why->text)] = "";
	int rc;

	if (setup->clock != NULL) {
		clock = malloc(sizeof(*clock));
		if (clock == NULL)
			return -ENOMEM;
		*clock = (struct test_clock){ { test_clock_read, clock }, setup->clock, setup->clock_arg };
		al->test_clock = clock;
		options.clock = &clock->store;
	}
	al->share = (struct store_share){
		.is_local = arrival_is_local,
		.arrive = arrival_arrive,
		.leave = arrival_leave,
		.changed = feed_changed,
		.cut = cut_off_tell,
		.breaker = background_breaker,
		.breaker_failures = (uint32_t)state_options(al)->engine_failures,
		.breaker_pause = (uint32_t)(state_options(al)->engine_pause / (ATLOCK_SECOND / 1000)),
		.arg = al,
		.host = al->host,
		.host_timeout = (uint32_t)(state_options(al)->host_timeout / (ATLOCK_SECOND / 1000)),
		.timeout = (uint32_t)(state_options(al)->engine_timeout / (ATLOCK_SECOND / 1000)),
		.manual = setup->manual,
	};
	rc = store_open(&al->store, uri, &options, text, sizeof(text));
	al->shared = rc == 0 && store_shared(al->store);
	return rc < 0 ? why_set(why, rc, ATLOCK_BACKEND_ERROR, "%s", text) : 0;
}

static void manager_free(struct atlock *al)
{
	store_close(al->store);
	alarms_free(al->alarms);
	hook_free(al);
	watch_free(al->watch);
	waits_free(al->waits);
	positions_free(al->positions);
	dir_paths_free(al->dir_paths);
	feed_free(al->feed);
	merges_free(al->merges);
	ends_free(al->ends);
	cut_off_free(al->cut_off);
	comms_free(al->comms);
	refusals_free(al->refusals);
	sessions_free(al->sessions);
	event_usages_free(al->event_usages);
	tallies_free(al->tallies);
	kept_free(al->kept);
	rates_free(al->rates);
	users_free(al->users);
	free(al->test_clock);
	seal_free(al);
	config_free(al);
	health_free(al->health);
	guards_destroy(&al->guards);
	pthread_mutex_destroy(&al->options_mutex);
	free(al);
}

int atlock_open(struct atlock **out, const char *store, const struct atlock_setup *setup, struct atlock_why *why)
{
	static const struct atlock_setup none;
	struct atlock *al;
	int rc;

	why_clear(why);
	if (out == NULL || store == NULL || store[0] == '\0')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no store given: name a directory");
	if (setup == NULL)
		setup = &none;
	al = calloc(1, sizeof(*al));
	if (al == NULL)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	pthread_mutex_init(&al->options_mutex, NULL);
	guards_init(&al->guards);
	rc = manager_prepare(al, setup, why);
	if (rc == 0)
		rc = seal_load(al, why);
	if (rc == 0)
		rc = manager_store(al, store, setup, why);
	if (rc == 0)
		rc = manager_resume(al, why);
	if (rc == 0 && !setup->manual && !setup->readonly && !setup->repair) {
		rc = hook_new(al);
		if (rc == 0)
			rc = publish_start(al);
		if (rc == 0)
			rc = background_start(al);
		if (rc == 0)
			rc = hook_configured(al);
		if (rc < 0)
			why_set(why, rc, ATLOCK_BACKEND_ERROR, "cannot start a thread: %s", strerror(-rc));
	}
	if (rc < 0) {
		background_stop(al);
		publish_stop(al);
		manager_free(al);
		return rc;
	}
	*out = al;
	return 0;
}

static int closed_in_txn(struct op *op)
{
	return event_other(op, ATLOCK_EVENT_CLOSED, "");
}

/*
 * Tries once more to write the ends. The next manager finds and ends those of open files, processes and blocked calls itself
 * (bound_recover()).
 */
static void manager_end(struct atlock *al)
{
	size_t count;

	if (ends_count(al) == 0)
		return;
	(void)atlock_run_ends(al);
	count = ends_count(al);
	if (count > 0)
		log_write(
			al, ATLOCK_LOG_ERROR,
			"%zu ends of holders and waits could not be written: the next mount writes those of processes, "
			"open files and blocked calls; other locks stay until their lease ends or an administrator "
			"removes them",
			count);
}

void atlock_close(struct atlock *al)
{
	struct atlock_caller self;
	bool background;

	if (al == NULL)
		return;
	background = al->background;
	background_stop(al);
	if (background)
		(void)atlock_run_refused(al);
	manager_end(al);
	waits_finish_all(al, -ECANCELED, ATLOCK_CANCELLED);
	if (!al->readonly && !al->repair) {
		manager_self(al, &self);
		(void)op_call(al, &self, METRICS_NONE, closed_in_txn, NULL, NULL);
	}
	hook_stop(al);
	publish_stop(al);
	manager_free(al);
}

/* --- The whole store --- */

static int status_in_txn(struct op *op)
{
	struct atlock_status *status = op->arg;
	struct store_space space;
	int rc = op_tail(op);

	store_space(op->al->store, &space);
	status->store_used = space.used;
	status->store_free = space.free;
	status->store_size = space.size;
	status->events_used = space_events_used(&op->tail);
	status->events_full = space_share_is_used(&space, &op->tail);
	status->store_low = space.low || status->events_full;
	if (rc == 0)
		rc = arrival_counts(op, &status->held, &status->waiting);
	status->events = op->tail.seq;
	status->last_change = op->tail.time;
	return rc;
}

int atlock_status(struct atlock *al, struct atlock_status *out)
{
	struct store_stats stats;

	if (al == NULL || out == NULL)
		return -EINVAL;
	store_stats(al->store, &stats);
	*out = (struct atlock_status){
		.updates = stats.updates,
		.commits = stats.commits,
		.owners_swept = atomic_load_explicit(&al->owners_swept, memory_order_relaxed),
		.ends = ends_count(al),
	};
	return op_look(al, status_in_txn, out, NULL);
}
