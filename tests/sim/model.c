#include "model.h"

#include <errno.h>
#include <string.h>

#include "model_parts.h"

const char *const model_tallies[TALLY_COUNT] = {
	[TALLY_ACQUIRED] = "acquired",
	[TALLY_REENTERED] = "re-entered",
	[TALLY_BUSY] = "busy",
	[TALLY_EXCLUSIVE_REFUSED] = "exclusive refused",
	[TALLY_RELEASED] = "released",
	[TALLY_FORCED] = "forced",
	[TALLY_RENEWED] = "renewed",
	[TALLY_RENEW_ADDED] = "lease added to",
	[TALLY_OVER_MAX] = "over max_ttl",
	[TALLY_TRANSFERRED] = "transferred",
	[TALLY_TRANSFER_ENDED_WAIT] = "transfer ended a wait",
	[TALLY_GIVEN] = "given to another user",
	[TALLY_GIFT_LONGER] = "gift taken up with a longer lease",
	[TALLY_TRANSFER_REFUSED] = "transfer would close a cycle",
	[TALLY_WRITTEN] = "written",
	[TALLY_VERSION_CONFLICT] = "version conflict",
	[TALLY_ALL_TAKEN] = "several taken at once",
	[TALLY_ALL_REFUSED] = "several refused",
	[TALLY_PARKED] = "parked",
	[TALLY_QUEUED] = "queued",
	[TALLY_QUEUE_FULL] = "queue full",
	[TALLY_GRANTED_PARKED] = "granted to a parked call",
	[TALLY_GRANTED_PENDING] = "granted to a ticket",
	[TALLY_GRANTED_SEVERAL] = "granted to several tickets of one",
	[TALLY_OVERTAKEN] = "priority overtook",
	[TALLY_CLAIMED] = "claimed",
	[TALLY_UNCLAIMED] = "not claimed",
	[TALLY_EXPIRED] = "expired",
	[TALLY_EXPIRED_INTO_DELAY] = "expired into lock_delay",
	[TALLY_DELAY_REFUSED] = "refused by lock_delay",
	[TALLY_DELAY_OVER] = "lock_delay over",
	[TALLY_TIMED_OUT] = "ticket timed out",
	[TALLY_CANCELLED] = "ticket cancelled",
	[TALLY_WAIT_CANCELLED] = "wait cancelled",
	[TALLY_REPRIORITISED] = "re-prioritised",
	[TALLY_DEADLOCK_SELF] = "deadlock, the asker loses",
	[TALLY_DEADLOCK_OTHER] = "deadlock, another loses",
	[TALLY_DEADLOCK_LONG] = "deadlock of three or more",
	[TALLY_DEADLOCK_HAND_OVER] = "deadlock by hand-over",
	[TALLY_DEADLOCK_PASS] = "deadlock found by the pass",
	[TALLY_PULL_RELEASED] = "released by pull",
	[TALLY_HOLDER_RELEASED] = "released by holder",
	[TALLY_REOPENED_HELD] = "held over a reopen",
	[TALLY_REOPENED_PARKED] = "parked over a reopen",
};

const char *const choice_names[CHOICE_KINDS] = {
	[CHOICE_CYCLE] = "another cycle or edge",
	[CHOICE_OLDER] = "an older cycle is left to the pass",
};

int choice_take(struct model *model, enum choice_kind kind, int n)
{
	struct choice_path *path = model->path;
	if (n < 2 || path->used == MODEL_CHOICES)
		return 0;
	int i = path->used++;
	if (i >= path->len) {
		path->len = i + 1;
		path->pick[i] = 0;
	}
	path->arity[i] = (unsigned char)n;
	path->kind[i] = kind;
	return path->pick[i];
}

bool choice_next(struct choice_path *path)
{
	path->len = path->used;
	path->used = 0;
	while (path->len > 0 && path->pick[path->len - 1] + 1 >= path->arity[path->len - 1])
		path->len--;
	if (path->len == 0)
		return false;
	path->pick[path->len - 1]++;
	return true;
}

void model_init(struct model *model, const struct model_options *options)
{
	*model = (struct model){ .options = *options };
	for (int i = 0; i < CAST_LOCKS; i++)
		model->locks[i].delay_until = MODEL_NO_DELAY;
}

void model_outcome_init(struct model_outcome *out)
{
	*out = (struct model_outcome){ .granted = -1, .failed = -1 };
}

void model_undo(struct model *model, const struct model *before)
{
	*model = *before;
	model->out->told_len = 0;
	model->out->dirty = 0;
	memset(model->out->events, 0, sizeof model->out->events);
}

int64_t model_after(const struct model *model, int64_t duration)
{
	return duration == ATLOCK_NEVER ? ATLOCK_NEVER : model->now + duration;
}

void model_event(struct model *model, int lock, enum atlock_event_type type)
{
	model->out->events[lock][type]++;
	model->out->dirty |= 1U << lock;
}

void model_want(struct model *model, int value)
{
	for (int i = 0; i < model->out->wants; i++) {
		if (model->out->want[i] == value)
			return;
	}
	model->out->want[model->out->wants++] = value;
}

bool model_ttl_valid(const struct model *model, int actor, int64_t ttl)
{
	if (ttl == ATLOCK_NEVER)
		return cast_actors[actor].unending || cast_actors[actor].admin;
	return ttl >= 0 && ttl <= model->options.max_ttl;
}

int64_t model_ttl(const struct model *model, int index, int actor, int64_t ttl)
{
	if (ttl != 0)
		return ttl;
	return cast_actors[actor].unending || cast_locks[index].lasts ? ATLOCK_NEVER : model->options.default_ttl;
}

void model_settle(struct model *model, int index)
{
	struct model_lock *lock = &model->locks[index];
	bool hand_over = false;
	if (lock->held && lock->expires_at < model->now) {
		lock->held = false;
		model_event(model, index, ATLOCK_EVENT_EXPIRED);
		model->tally[TALLY_EXPIRED]++;
		if (model->options.lock_delay > 0) {
			lock->delay_until = model_after(model, model->options.lock_delay);
			model->tally[TALLY_EXPIRED_INTO_DELAY]++;
		} else {
			hand_over = true;
		}
	} else if (lock->held && lock->pending && lock->claim_by < model->now) {
		lock->held = false;
		model_event(model, index, ATLOCK_EVENT_UNCLAIMED);
		model->tally[TALLY_UNCLAIMED]++;
		hand_over = true;
	} else if (lock->delay_until != MODEL_NO_DELAY && lock->delay_until < model->now) {
		lock->delay_until = MODEL_NO_DELAY;
		model->out->dirty |= 1U << index;
		model->tally[TALLY_DELAY_OVER]++;
		hand_over = true;
	}
	model_drop_late(model, index);
	if (hand_over)
		model_hand_over(model, index);
}

void model_version(struct model *model, int index)
{
	if (!(model->bumped & 1U << index))
		model->locks[index].version++;
	model->bumped |= 1U << index;
}

int64_t model_claimed_ttl(const struct model *model, const struct model_lock *lock)
{
	int64_t least = model_ttl(model, (int)(lock - model->locks), lock->actor, 0);
	int64_t ttl = lock->given && lock->ttl < least ? least : lock->ttl;
	return lock->given && ttl != ATLOCK_NEVER && ttl > model->options.max_ttl ? model->options.max_ttl : ttl;
}

void model_claim(struct model *model, int index)
{
	struct model_lock *lock = &model->locks[index];
	if (!lock->pending)
		return;
	int64_t ttl = model_claimed_ttl(model, lock);
	model->tally[TALLY_GIFT_LONGER] += ttl > lock->ttl;
	lock->ttl = ttl;
	lock->pending = false;
	lock->given = false;
	lock->renewed_at = model->now;
	lock->expires_at = model_after(model, lock->ttl);
	model_version(model, index);
	model->tally[TALLY_CLAIMED]++;
	model_event(model, index, ATLOCK_EVENT_CLAIMED);
}

int64_t model_lock_due(const struct model_lock *lock)
{
	int64_t due = ATLOCK_NEVER;
	if (lock->held)
		due = lock->expires_at;
	if (lock->held && lock->pending && lock->claim_by < due)
		due = lock->claim_by;
	if (lock->delay_until != MODEL_NO_DELAY && lock->delay_until < due)
		due = lock->delay_until;
	for (int i = 0; i < lock->tickets_len; i++) {
		if (lock->tickets[i].deadline < due)
			due = lock->tickets[i].deadline;
	}
	return due;
}

int64_t model_next_due(const struct model *model)
{
	int64_t due = ATLOCK_NEVER;
	for (int i = 0; i < CAST_LOCKS; i++) {
		int64_t one = model_lock_due(&model->locks[i]);
		if (one < due)
			due = one;
	}
	return due;
}

/* Ends what is due, earliest first; several at the same instant in key order. */
static bool run_due(struct model *model)
{
	bool any = false;
	for (;;) {
		int next = -1;
		for (int i = 0; i < CAST_LOCKS; i++) {
			int64_t due = model_lock_due(&model->locks[i]);
			if (due < model->now && (next < 0 || due < model_lock_due(&model->locks[next])))
				next = i;
		}
		if (next < 0)
			return any;
		model_settle(model, next);
		any = true;
	}
}

static void configure(struct model *model, const struct step *step)
{
	if (step->option == OPTION_POLICY)
		model->options.policy = step->setting;
	else if (step->option == OPTION_LOCK_DELAY)
		model->options.lock_delay = step->setting;
	else
		model->options.max_queue = step->setting;
	model_want(model, 0);
}

static void step_run(struct model *model, const struct step *step)
{
	switch (step->op) {
	case STEP_RELEASE_PULL: model_pull_step(model, step); break;
	case STEP_RELEASE_HOLDER: model_holder_step(model, step); break;
	case STEP_RUN_DUE:
		model->out->any_positive = run_due(model);
		if (!model->out->any_positive)
			model_want(model, 0);
		break;
	case STEP_RUN_DEADLOCK: model_want(model, model_break_all(model)); break;
	case STEP_CONFIGURE: configure(model, step); break;
	case STEP_LIST:
	case STEP_ADVANCE:
	case STEP_WALL: model_want(model, 0); break;
	case STEP_WAIT:
	case STEP_WAIT_CANCEL:
	case STEP_ENQUEUE:
	case STEP_CANCEL:
	case STEP_REPRIORITISE: model_queue_step(model, step); break;
	default: model_lock_step(model, step); break;
	}
}

void model_step(struct model *model, const struct step *step, struct choice_path *path, struct model_outcome *out)
{
	model_outcome_init(out);
	model->path = path;
	model->out = out;
	model->bumped = 0;
	struct model before = *model;
	step_run(model, step);
	bool refused = false;
	for (int i = 0; i < out->wants; i++)
		refused |= out->want[i] < 0;
	/* A refusal has changed nothing, not even ended what was over; but losing a deadlock is a change. */
	if (refused && out->dirty && !out->lost)
		model_undo(model, &before);
}

void model_reopen(struct model *model, struct choice_path *path, struct model_outcome *out)
{
	model->path = path;
	model->out = out;
	for (int i = 0; i < CAST_LOCKS; i++) {
		struct model_lock *lock = &model->locks[i];
		model->tally[TALLY_REOPENED_HELD] += lock->held;
		for (int j = lock->tickets_len - 1; j >= 0; j--) {
			if (lock->tickets[j].waiter < 0)
				continue;
			model->tally[TALLY_REOPENED_PARKED]++;
			model_ticket_drop(model, i, j, -ECANCELED);
		}
	}
	model_end_flocks(model);
}
