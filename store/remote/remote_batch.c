#include "remote_batch.h"

#include "remote_commit.h"
#include "remote_engine.h"
#include "remote_feed.h"
#include "remote_gate.h"
#include "remote_hello.h"
#include "remote_hosts.h"
#include "remote_round.h"
#include "remote_watchdog.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define PATIENCE 3             /* conflicts, before a job waits */
#define PAUSE INT64_C(2000000) /* ns, about: as long as a few round trips */

/* Between half and one and a half of the pause: hosts that collide do not collide again for that reason. */
static void pause_jittered(struct engine *engine, unsigned int times)
{
	int64_t ns = PAUSE / 2 + (int64_t)(remote_random(engine) % (uint64_t)PAUSE);

	ns *= times < 16 ? (int64_t)times : 16;
	(void)nanosleep(&(struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 }, NULL);
}

/* Everything that must be settled before a new commit. 0 or a negative errno. */
static int engine_ready(struct engine *engine)
{
	struct remote_reply *reply = &(struct remote_reply){ .box_len = 0 };
	int rc = 0;

	if (watchdog_cut(engine) || !engine->ready || atomic_load(&engine->strange))
		rc = hello_join(engine);
	if (rc == 0 && engine->doubt.open)
		rc = commit_resolve(engine, reply);
	if (rc == REMOTE_HELLO || rc == REMOTE_FENCED)
		engine->ready = false;
	/* What is in doubt is an earlier call's, which has its answer: for this one the engine is out of reach. */
	if (rc == -EINPROGRESS)
		rc = -EHOSTDOWN;
	return rc < 0 ? rc : engine->ready ? 0 : -EHOSTDOWN;
}

static void slots_end(struct round *round, int result)
{
	for (size_t i = 0; i < round->count; i++) {
		struct slot *slot = &round->slots[i];

		if (slot->state != SLOT_DONE) {
			slot->job->result = result;
			slot->state = SLOT_DONE;
		}
	}
}

/* A part met a conflict. */
static void slot_lost(struct engine *engine, struct slot *slot, bool late)
{
	slot->conflicts++;
	atomic_fetch_add_explicit(&engine->conflicts, 1, memory_order_relaxed);
	slot->state = late ? SLOT_DONE : SLOT_OPEN;
	if (late)
		slot->job->result = -EAGAIN;
}

/* After a request was answered with `revision`; without a reply it was a barrier, and the answers were computed on `base`. */
static void slots_settle(struct round *round, uint64_t revision, const struct remote_reply *reply, bool late)
{
	for (size_t i = 0; i < round->count; i++) {
		struct slot *slot = &round->slots[i];

		if (slot->state == SLOT_ANSWER) {
			slot->fence = slot->fence == 0 ? revision : slot->fence;
			slot->state = reply == NULL && round->base.revision >= revision ? SLOT_DONE : SLOT_OPEN;
		} else if (slot->state == SLOT_PART && reply != NULL && reply->applied[slot->part] == '1') {
			slot->state = SLOT_DONE;
		} else if (slot->state == SLOT_PART) {
			slot_lost(round->engine, slot, late);
		}
	}
}

static void slots_reopen(struct round *round)
{
	for (size_t i = 0; i < round->count; i++)
		if (round->slots[i].state != SLOT_DONE)
			round->slots[i].state = SLOT_OPEN;
}

/* Asks how far the engine is, for answers, and catches up. */
static int round_barrier(struct round *round)
{
	struct engine *engine = round->engine;
	struct remote_at at;
	int64_t sent = remote_clock(engine);
	int rc = engine->adapter->ops->barrier(engine->adapter, REMOTE_LINE_COMMIT, &round->base, &at);

	if (rc == 0) {
		atomic_store(&engine->answered, sent);
		asked_note(&engine->asked, round->base.epoch, at.revision, sent);
		slots_settle(round, at.revision, NULL, false);
		rc = feed_catch_up(engine, REMOTE_LINE_COMMIT, at.revision);
	}
	return rc;
}

/* 0, REMOTE_FENCED or REMOTE_HELLO, a negative errno. */
static int round_commit(struct round *round, bool late)
{
	struct engine *engine = round->engine;
	struct remote_reply reply;
	int rc = commit_send(engine, &round->base, round->parts, round->part_count, &reply);

	/* What was granted to a life that ended meanwhile is void. */
	if (rc == 0 && watchdog_cut(engine))
		rc = -EIO;
	if (rc == -EINPROGRESS || rc == -EIO) {
		/* Only those whose part was sent are in doubt. */
		for (size_t i = 0; i < round->count; i++) {
			if (round->slots[i].state == SLOT_PART) {
				round->slots[i].job->result = -EIO;
				round->slots[i].state = SLOT_DONE;
			}
		}
		return -EHOSTDOWN;
	}
	if (rc == COMMIT_LOST)
		return late ? -EHOSTDOWN : 0;
	if (rc != 0)
		return rc;
	size_t applied = 0;
	for (size_t i = 0; i < round->part_count; i++)
		applied += reply.applied[i] == '1';
	commit_count(&engine->queue, applied);
	slots_settle(round, reply.at.revision, &reply, late);
	return applied < round->part_count ? feed_catch_up(engine, REMOTE_LINE_COMMIT, reply.at.revision) : 0;
}

static bool has_state(const struct round *round, enum slot_state state)
{
	for (size_t i = 0; i < round->count; i++)
		if (round->slots[i].state == state)
			return true;
	return false;
}

static int round_send(struct round *round, bool late)
{
	int rc = round_run(round);

	if (rc < 0)
		return rc;
	if (round->part_count > 0)
		rc = round_commit(round, late);
	else if (has_state(round, SLOT_ANSWER))
		rc = round_barrier(round);
	slots_reopen(round);
	if (rc <= 0)
		return rc;
	/* The host must join again first. */
	round->engine->ready = false;
	return late ? -EHOSTDOWN : 0;
}

static unsigned int most_conflicts(const struct round *round)
{
	unsigned int most = 0;

	for (size_t i = 0; i < round->count; i++)
		if (round->slots[i].state != SLOT_DONE && round->slots[i].conflicts > most)
			most = round->slots[i].conflicts;
	return most;
}

/* Errors after which trying again may help. */
static bool is_passing(int rc)
{
	return rc == -EHOSTDOWN || rc == -EAGAIN || rc == -ETIMEDOUT || rc == -ECONNREFUSED;
}

/* Rounds until every job has a result. A trial ends with the first failure. False: the engine was out of reach. */
static bool rounds_run(struct round *round, bool trial)
{
	struct engine *engine = round->engine;
	bool answered = true;

	for (unsigned int tries = 1; has_state(round, SLOT_OPEN); tries++) {
		bool late = remote_clock(engine) >= engine->deadline;
		int rc = engine_ready(engine);

		if (rc == 0)
			rc = round_send(round, late);
		if (rc < 0 && (late || trial || !is_passing(rc))) {
			answered = !is_passing(rc);
			slots_end(round, answered ? rc : -EHOSTDOWN);
		}
		if (has_state(round, SLOT_OPEN) && (rc < 0 || most_conflicts(round) > PATIENCE))
			pause_jittered(engine, rc < 0 ? tries : most_conflicts(round) - PATIENCE);
	}
	return answered;
}

/* Runs the jobs of users, unless the engine is known to be out of reach. */
static void rounds_try(struct round *round)
{
	bool trial;

	if (round->count == 0)
		return;
	if (gate_admit(round->engine, &trial))
		gate_done(round->engine, rounds_run(round, trial));
	else
		slots_end(round, -EHOSTDOWN);
}

/* Joins, and writes the box if nothing else has done so for long. */
static int housekeep(struct engine *engine)
{
	struct remote_reply *reply = &(struct remote_reply){ .box_len = 0 };
	int rc = engine_ready(engine);

	if (rc == 0 && hosts_heartbeat_due(engine)) {
		struct remote_at base = mirror_at(engine->mirror);

		rc = commit_send(engine, &base, NULL, 0, reply);
		if (rc > 0)
			engine->ready = false;
	}
	return rc < 0 ? rc : 0;
}

void remote_batch_run(struct engine *engine, struct job_list *batch)
{
	struct round *round = calloc(1, sizeof(*round));
	struct store_job *job;
	size_t count = 0;

	engine->deadline = remote_clock(engine) + (int64_t)engine->options.timeout * 1000000;
	STAILQ_FOREACH(job, batch, link)
		count++;
	struct slot *slots = calloc(count + 1, sizeof(*slots));
	count = 0;
	STAILQ_FOREACH(job, batch, link) {
		job->result = -ENOMEM;
		if (job->fn == NULL)
			job->result = housekeep(engine);
		else if (slots != NULL)
			slots[count++] = (struct slot){ .job = job };
	}
	if (round != NULL && slots != NULL) {
		round->engine = engine;
		round->slots = slots;
		round->count = count;
		rounds_try(round);
		round_free(round);
	}
	free(slots);
	free(round);
}
