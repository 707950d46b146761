#include <stdio.h>
#include <string.h>

#include "atlock/manual.h"
#include "rig.h"

static bool wait_done(void *arg, int err, const struct atlock_grant *grant, const struct atlock_why *why)
{
	struct rig_wait *wait = arg;
	struct rig_result *result = wait->rig->result;
	wait->told++;
	/* A callback may call back in. */
	(void)atlock_now(wait->rig->al);
	if (result->told_len == RIG_TOLD)
		return true;
	struct rig_told *told = &result->told[result->told_len++];
	*told = (struct rig_told){ .waiter = (int)(wait - wait->rig->waits), .err = err };
	if (grant)
		told->grant = *grant;
	if (why)
		told->code = why->code;
	return true;
}

static void wait_begin(struct rig *rig, const struct step *step, const struct atlock_request *request,
		       struct rig_result *result)
{
	struct rig_wait *wait = &rig->waits[step->waiter];
	*wait = (struct rig_wait){ .rig = rig };
	result->ret = atlock_wait(rig->al, request, wait_done, wait, &wait->handle, &result->grants[0], &result->why);
	wait->parked = result->ret == 1;
}

static void acquire_all(struct rig *rig, const struct step *step, const struct atlock_request *request,
			struct rig_result *result)
{
	struct atlock_request requests[STEP_ALL_MAX];
	for (int i = 0; i < step->locks_len; i++) {
		requests[i] = *request;
		requests[i].name = &cast_locks[step->locks[i]].name;
	}
	result->ret = atlock_acquire_all(rig->al, requests, (size_t)step->locks_len, result->grants,
					 &result->failed_index, &result->why);
}

static void release(struct rig *rig, const struct atlock_request *request, struct rig_result *result)
{
	struct atlock_view view = { 0 };
	result->ret = atlock_release(rig->al, request, &view, &result->why);
	if (result->ret == 0) {
		result->released_token = view.token;
		atlock_view_clear(&view);
	}
}

static void configure(struct rig *rig, const struct step *step, struct rig_result *result)
{
	char value[32];
	step_option_value(step, value, sizeof value);
	result->ret = atlock_configure(rig->al, NULL, step_option_name(step), value, &result->why);
	if (result->ret < 0)
		return;
	/* What was configured is given again at the next opening. */
	(void)atlock_option_set(&rig->options, step_option_name(step), value, NULL);
}

struct listing {
	struct rig_result *result;
	int last;
};

static int list_note(void *arg, const struct atlock_view *view)
{
	struct listing *listing = arg;
	int lock = cast_find_lock(&view->name);
	if (lock <= listing->last) {
		listing->result->listed_badly = true;
		return 1;
	}
	listing->last = lock;
	listing->result->listed |= 1U << lock;
	return 0;
}

static void list(struct rig *rig, const struct step *step, struct rig_result *result)
{
	struct atlock_query query = { .limit = step->limit };
	struct listing listing = { .result = result, .last = -1 };
	if (step->query == QUERY_PREFIX)
		query.prefix = step_prefix(step);
	if (step->query == QUERY_OWNER)
		query.owner = cast_actors[step->actor].owner;
	if (step->query == QUERY_WHO)
		query.who = cast_actors[step->actor].who;
	if (step->query == QUERY_PULL) {
		query.pull_repo = cast_repos[step->repo];
		query.pull_num = step->pull;
	}
	do {
		result->ret = atlock_list(rig->al, &query, list_note, &listing);
		result->pages++;
	} while (result->ret == 1 && result->pages < 2 * CAST_LOCKS && !result->listed_badly);
}

static void queue_call(struct rig *rig, const struct step *step, const struct atlock_request *request,
		       struct rig_result *result)
{
	if (step->op == STEP_WAIT)
		wait_begin(rig, step, request, result);
	else if (step->op == STEP_WAIT_CANCEL)
		result->ret = atlock_wait_cancel(rig->al, rig->waits[step->waiter].handle);
	else if (step->op == STEP_ENQUEUE)
		result->ret = atlock_enqueue(rig->al, request, &result->ticket, &result->grants[0], &result->why);
	else if (step->op == STEP_CANCEL)
		result->ret = atlock_cancel(rig->al, request, step->ticket, &result->why);
	else
		result->ret = atlock_reprioritise(rig->al, request, step->ticket, &result->why);
}

static void lock_call(struct rig *rig, const struct step *step, const struct atlock_request *request,
		      struct rig_result *result)
{
	struct atlock_grant *grant = &result->grants[0];
	struct atlock_why *why = &result->why;
	switch (step->op) {
	case STEP_ACQUIRE: result->ret = atlock_acquire(rig->al, request, grant, why); break;
	case STEP_ACQUIRE_ALL: acquire_all(rig, step, request, result); break;
	case STEP_RELEASE: release(rig, request, result); break;
	case STEP_RENEW: result->ret = atlock_renew(rig->al, request, grant, why); break;
	case STEP_TRANSFER: result->ret = atlock_transfer(rig->al, request, &cast_actors[step->to].caller, why); break;
	case STEP_WRITE: result->ret = atlock_write(rig->al, request, why); break;
	case STEP_CHMOD: result->ret = atlock_chmod(rig->al, request, step->mode, why); break;
	case STEP_CLAIM: result->ret = atlock_claim(rig->al, request, why); break;
	default: queue_call(rig, step, request, result); break;
	}
}

static void request_call(struct rig *rig, const struct step *step, struct rig_result *result)
{
	char text[256];
	struct atlock_name name = cast_locks[step->lock].name;
	struct atlock_caller self = cast_actors[step->actor].caller;
	struct atlock_request request = {
		.name = &name,
		.caller = &cast_actors[step->actor].caller,
		.ttl = step->op == STEP_WRITE ? 0 : step->ttl,
		.version = step->version,
		.exclusive = step->exclusive,
		.add = step->add,
		.force = step->force,
		.replace = step->replace,
		.priority = (enum atlock_priority)step->priority,
		.timeout = step->timeout,
	};
	if (step->named)
		memcpy(name.who, cast_actors[step->named - 1].caller.who, sizeof name.who);
	if (step->op == STEP_WAIT && step->self >= 0) {
		memcpy(self.who, cast_actors[step->self].caller.who, sizeof self.who);
		self.bound_start = cast_actors[step->self].caller.bound_start;
		request.self = &self;
	}
	request.text_len = step_text(step, text, sizeof text);
	request.text = request.text_len ? text : NULL;
	lock_call(rig, step, &request, result);
}

static void pull_close(struct rig *rig, const struct step *step, struct rig_result *result)
{
	struct atlock_pull parts = { .host = "github.com", .num = step->pull };
	struct atlock_pull_name pull;
	(void)snprintf(parts.repo, sizeof parts.repo, "%s", cast_repos[step->repo]);
	result->ret = atlock_pull_join(&parts, &pull, &result->why);
	if (result->ret == 0)
		result->ret = atlock_pull_close(rig->al, &cast_actors[step->actor].caller, &pull, &result->released,
						&result->why);
}

void rig_call(struct rig *rig, const struct step *step, struct rig_result *result)
{
	const struct atlock_caller *caller = &cast_actors[step->actor].caller;
	switch (step->op) {
	case STEP_RELEASE_PULL: pull_close(rig, step, result); break;
	case STEP_RELEASE_HOLDER:
		result->ret = atlock_release_holder(rig->al, caller, &result->released, &result->why);
		break;
	case STEP_RUN_DUE: result->ret = atlock_run_due(rig->al); break;
	case STEP_RUN_DEADLOCK: result->ret = atlock_run_deadlock(rig->al); break;
	case STEP_LIST: list(rig, step, result); break;
	case STEP_CONFIGURE: configure(rig, step, result); break;
	case STEP_ADVANCE:
		rig->time.steady += step->advance;
		rig->time.wall += step->advance;
		break;
	case STEP_WALL: rig->time.wall += step->wall; break;
	default: request_call(rig, step, result); break;
	}
}
