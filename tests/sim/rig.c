#include "rig.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAIL_ERROR EIO

static void clock_read(void *arg, struct atlock_time *out)
{
	*out = ((const struct rig *)arg)->time;
}

static void change_note(void *arg, enum atlock_change what, const struct atlock_name *name)
{
	const struct rig *rig = arg;
	int lock = what == ATLOCK_CHANGE_DIR ? -1 : cast_find_lock(name);
	if (lock < 0 || !rig->result)
		return;
	*(what == ATLOCK_CHANGE_QUEUE ? &rig->result->changed_queues : &rig->result->changed_locks) |= 1U << lock;
}

static int rig_open(struct rig *rig)
{
	struct atlock_setup setup = {
		.options = &rig->options,
		.host = "simhost",
		.on_change = change_note,
		.change_arg = rig,
		.clock = clock_read,
		.clock_arg = rig,
		.manual = true,
		.seed = rig->seed,
		.store_engine = rig->lmdb ? NULL : &mem_engine,
		.store_engine_arg = rig->world,
	};
	struct atlock_why why = { 0 };
	int err = atlock_open(&rig->al, rig->lmdb ? rig->lmdb : "mem", &setup, &why);
	if (err < 0)
		rig->al = NULL;
	return err;
}

/* Empties the directory: what an engine calls its files is its own business. */
static void lmdb_remove(const char *dir)
{
	DIR *open = opendir(dir);
	if (!open)
		return;
	for (const struct dirent *entry; (entry = readdir(open));)
		(void)unlinkat(dirfd(open), entry->d_name, 0);
	(void)closedir(open);
}

/* Given options win over what the store remembers: a change of one that nobody was answered is void after a reopening. */
static void options_give(struct atlock_options *options)
{
	static const char *const names[] = { "deadlock_policy", "lock_delay", "max_queue" };
	char value[32];
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		(void)atlock_option_get(options, names[i], value, sizeof value);
		(void)atlock_option_set(options, names[i], value, NULL);
	}
}

int rig_init(struct rig *rig, const char *lmdb, uint64_t seed, const struct model_options *options, int waits)
{
	*rig = (struct rig){
		.lmdb = lmdb,
		.seed = seed,
		.time = { .steady = 5 * ATLOCK_SECOND, .wall = INT64_C(1700000000) * ATLOCK_SECOND },
		.waits_len = waits,
	};
	atlock_options_init(&rig->options);
	rig->options.rate_limit = 0; /* its clock moves when told to */
	rig->options.default_ttl = options->default_ttl;
	rig->options.max_ttl = options->max_ttl;
	rig->options.queue_timeout = options->queue_timeout;
	rig->options.claim_timeout = options->claim_timeout;
	rig->options.lock_delay = options->lock_delay;
	rig->options.max_queue = options->max_queue;
	rig->options.queue_share = 100;
	rig->options.store_share = 100;
	rig->options.deadlock_policy = options->policy;
	rig->options.sync = ATLOCK_SYNC_OFF;
	options_give(&rig->options);
	rig->waits = calloc((size_t)waits, sizeof rig->waits[0]);
	if (!rig->waits)
		return -ENOMEM;
	if (lmdb)
		lmdb_remove(lmdb);
	else
		rig->world = mem_world_new(seed);
	return rig_open(rig);
}

void rig_close(struct rig *rig, struct rig_result *result)
{
	rig->result = result;
	atlock_close(rig->al);
	rig->al = NULL;
}

void rig_fini(struct rig *rig)
{
	struct rig_result result = { 0 };
	rig_close(rig, &result);
	if (rig->world)
		mem_world_free(rig->world);
	else if (rig->lmdb)
		lmdb_remove(rig->lmdb);
	free(rig->waits);
}

static void faults_set(struct rig *rig, enum step_fault fault)
{
	if (!rig->world)
		return;
	struct mem_faults *faults = mem_world_faults(rig->world);
	faults->fail_in = fault == FAULT_FAIL;
	faults->fail_error = FAIL_ERROR;
	faults->crash_in = fault == FAULT_CRASH_BEFORE || fault == FAULT_CRASH_AFTER;
	faults->crash_applied = fault == FAULT_CRASH_AFTER;
	faults->rerun_percent = fault == FAULT_TWICE ? 100 : 0;
}

static struct mem_counts counts(struct rig *rig)
{
	struct mem_counts now = { 0 };
	if (rig->world)
		mem_world_counts(rig->world, &now);
	return now;
}

/*
 * Closes and opens again. Meanwhile wall time goes on or was set, and the steady clock starts anew now and then, as after
 * a reboot. A commit of the closing or opening that is to fail does: opening again must then be all it takes.
 */
static int rig_reopen(struct rig *rig, const struct step *step, struct rig_result *result)
{
	rig_close(rig, result);
	for (int i = 0; i < rig->waits_len; i++)
		rig->waits[i].handle = 0;
	rig->time.wall += step->advance + step->wall;
	if (step->value % 2)
		rig->time.steady = (int64_t)step->value * ATLOCK_SECOND;
	result->reopened = true;
	int err = rig_open(rig);
	if (err == -EIO && step->fault) {
		faults_set(rig, FAULT_NONE);
		err = rig_open(rig);
	}
	return err;
}

static int event_note(void *arg, const struct atlock_event *event)
{
	struct rig *rig = arg;
	struct rig_result *result = rig->result;
	if (rig->event_next && event->seq != rig->event_next)
		result->events_gap = true;
	rig->event_next = event->seq + 1;
	if (result->events_len == RIG_EVENTS)
		return 0;
	result->events[result->events_len++] = (struct rig_event){
		.type = event->type,
		.lock = cast_find_path(event->lock),
		.token = event->token,
	};
	return 0;
}

void rig_play(struct rig *rig, const struct step *step, struct rig_result *result)
{
	uint64_t failures = counts(rig).failures;
	memset(result, 0, offsetof(struct rig_result, told));
	result->told_len = 0;
	result->events_len = 0;
	result->events_gap = false;
	rig->result = result;
	faults_set(rig, step->fault);
	if (step->op == STEP_REOPEN) {
		result->ret = rig_reopen(rig, step, result);
		result->unclean = counts(rig).failures > failures;
	} else {
		rig_call(rig, step, result);
		bool down = counts(rig).down;
		result->crashed = down;
		result->failed = !down && counts(rig).failures > failures;
		faults_set(rig, FAULT_NONE);
		int err = down ? rig_reopen(rig, step, result) : 0;
		if (err < 0)
			result->ret = err;
		result->unclean = down;
	}
	faults_set(rig, FAULT_NONE);
	if (rig->al)
		(void)atlock_events(rig->al, rig->event_next, event_note, rig);
}
