#include <errno.h>
#include <string.h>

#include "model_parts.h"

static bool holds(const struct model *model, int lock, int actor)
{
	return model->locks[lock].held && model->locks[lock].actor == actor;
}

static bool delayed(const struct model *model, int lock)
{
	return model->locks[lock].delay_until != MODEL_NO_DELAY;
}

void model_meta(const struct step *step, int meta[STEP_KEYS])
{
	for (int key = 0; key < STEP_KEYS; key++) {
		if (step->keys & 1U << key)
			meta[key] = step->value;
	}
}

void model_grant(struct model *model, int index, int actor, int64_t ttl, const int meta[STEP_KEYS])
{
	struct model_lock *lock = &model->locks[index];
	lock->held = true;
	lock->pending = false;
	lock->given = false;
	lock->actor = actor;
	lock->token = 0;
	lock->grant = ++model->order;
	lock->version = 1;
	model->bumped &= ~(1U << index);
	lock->mode = 0644;
	lock->acquired_at = model->now;
	lock->renewed_at = model->now;
	lock->ttl = ttl;
	lock->expires_at = model_after(model, ttl);
	memcpy(lock->meta, meta, sizeof lock->meta);
}

static void changed(struct model *model, int index, enum atlock_event_type type)
{
	model_version(model, index);
	model_event(model, index, type);
}

/* The holder comes again and changes what it says: the lease, the metadata. */
void model_again(struct model *model, const struct step *step, int index)
{
	struct model_lock *lock = &model->locks[index];
	model_claim(model, index);
	if (step->ttl != 0) {
		lock->ttl = step->ttl;
		lock->expires_at = model_after(model, step->ttl);
		lock->renewed_at = model->now;
		changed(model, index, ATLOCK_EVENT_RENEWED);
	}
	if (step->keys != 0) {
		model_meta(step, lock->meta);
		changed(model, index, ATLOCK_EVENT_CHANGED);
	}
	model->tally[TALLY_REENTERED]++;
}

static int acquire_one(struct model *model, const struct step *step, int index)
{
	struct model_lock *lock = &model->locks[index];
	bool valid = model_ttl_valid(model, step->actor, step->ttl);
	model_settle(model, index);
	if (holds(model, index, step->actor)) {
		if (step->exclusive || !valid)
			return step->exclusive ? -EEXIST : -EINVAL;
		model_again(model, step, index);
		return 1;
	}
	if (lock->held && step->exclusive)
		return -EEXIST;
	if (lock->held)
		return cast_same_uid(lock->actor, step->actor) ? -EBUSY : -EACCES;
	if (delayed(model, index))
		return -EBUSY;
	if (!valid)
		return -EINVAL;
	int meta[STEP_KEYS] = { 0 };
	model_meta(step, meta);
	model_grant(model, index, step->actor, model_ttl(model, index, step->actor, step->ttl), meta);
	model_event(model, index, ATLOCK_EVENT_ACQUIRED);
	model->tally[TALLY_ACQUIRED]++;
	return 0;
}

static void want_refusal(struct model *model, const struct step *step, int index, int err)
{
	model_want(model, err);
	if (!model_ttl_valid(model, step->actor, step->ttl))
		model_want(model, -EINVAL);
	model->tally[TALLY_BUSY] += err == -EBUSY || err == -EACCES;
	model->tally[TALLY_EXCLUSIVE_REFUSED] += err == -EEXIST;
	model->tally[TALLY_DELAY_REFUSED] += delayed(model, index);
}

static void acquire(struct model *model, const struct step *step)
{
	int err = acquire_one(model, step, step->lock);
	if (err < 0) {
		want_refusal(model, step, step->lock, err);
		return;
	}
	model_want(model, err);
	model->out->granted = step->lock;
}

/* Of one that is refused nothing is left but the end of what was over anyway. */
static void acquire_all(struct model *model, const struct step *step)
{
	struct model before = *model;
	for (int i = 0; i < step->locks_len; i++) {
		int err = acquire_one(model, step, step->locks[i]);
		if (err >= 0)
			continue;
		model_undo(model, &before);
		for (int j = 0; j <= i; j++)
			model_settle(model, step->locks[j]);
		want_refusal(model, step, step->locks[i], err);
		model->out->failed = i;
		model->tally[TALLY_ALL_REFUSED]++;
		return;
	}
	model_want(model, 0);
	model_want(model, 1);
	model->tally[TALLY_ALL_TAKEN]++;
}

/* Whether the lock is held, and by the who that the step's name says, if it says one. */
static bool is_meant(const struct model_lock *lock, const struct step *step)
{
	return lock->held &&
	       (!step->named || strcmp(cast_actors[step->named - 1].who, cast_actors[lock->actor].who) == 0);
}

/*
 * What stands in the way of changing a held lock: nobody has it, another has it, it is not the version meant. If several
 * do, any of them may be the answer. True if something does.
 */
static bool refuse_change(struct model *model, const struct step *step, bool overridden)
{
	const struct model_lock *lock = &model->locks[step->lock];
	if (!is_meant(lock, step)) {
		model_want(model, -ENOENT);
		return true;
	}
	if (lock->actor != step->actor && !overridden)
		model_want(model, cast_same_uid(lock->actor, step->actor) ? -EPERM : -EACCES);
	if (step->version && step->version != lock->version) {
		model_want(model, -EAGAIN);
		model->tally[TALLY_VERSION_CONFLICT]++;
	}
	return model->out->wants > 0;
}

static bool forced(const struct step *step)
{
	return step->force && step->named && cast_actors[step->actor].admin;
}

static void release(struct model *model, const struct step *step)
{
	struct model_lock *lock = &model->locks[step->lock];
	model_settle(model, step->lock);
	if (!is_meant(lock, step)) {
		model_want(model, 1);
		return;
	}
	if (refuse_change(model, step, forced(step)))
		return;
	bool own = lock->actor == step->actor;
	model_want(model, 0);
	model->out->released_token = lock->token;
	lock->held = false;
	model_event(model, step->lock, own ? ATLOCK_EVENT_RELEASED : ATLOCK_EVENT_FORCED);
	model->tally[own ? TALLY_RELEASED : TALLY_FORCED]++;
	model_hand_over(model, step->lock);
}

/* The lease a renew, or a ttl= or renew= line of a write, leads to. -EINVAL changes nothing. */
static int lease_change(struct model *model, const struct step *step, bool add)
{
	struct model_lock *lock = &model->locks[step->lock];
	int64_t held = lock->pending ? model_claimed_ttl(model, lock) : lock->ttl;
	int64_t ttl = step->ttl ? step->ttl : held;
	/* A lease that was added to may have grown longer than any that can be asked for. */
	if (!step->ttl && ttl != ATLOCK_NEVER && ttl > model->options.max_ttl)
		ttl = model->options.max_ttl;
	bool invalid = add ? step->ttl <= 0 || step->ttl == ATLOCK_NEVER : step->ttl < 0;
	if (invalid || (!add && ttl == ATLOCK_NEVER && step->ttl && !model_ttl_valid(model, step->actor, ttl)))
		return -EINVAL;
	int64_t expires = model_after(model, ttl);
	if (add && held == ATLOCK_NEVER) {
		ttl = ATLOCK_NEVER;
		expires = ATLOCK_NEVER;
	} else if (add) {
		expires = (lock->pending ? model_after(model, held) : lock->expires_at) + step->ttl;
		ttl = held + step->ttl;
	}
	if (expires != ATLOCK_NEVER && expires - model->now > model->options.max_ttl) {
		model->tally[TALLY_OVER_MAX]++;
		return -EINVAL;
	}
	model_claim(model, step->lock);
	lock->ttl = ttl;
	lock->expires_at = expires;
	lock->renewed_at = model->now;
	model->tally[add ? TALLY_RENEW_ADDED : TALLY_RENEWED]++;
	return 0;
}

static void renew(struct model *model, const struct step *step)
{
	model_settle(model, step->lock);
	if (refuse_change(model, step, false)) {
		if (step->ttl < 0 || (step->add && step->ttl == 0) || !model_ttl_valid(model, step->actor, step->ttl))
			model_want(model, -EINVAL);
		return;
	}
	int err = lease_change(model, step, step->add);
	model_want(model, err);
	if (err < 0)
		return;
	changed(model, step->lock, ATLOCK_EVENT_RENEWED);
	model->out->granted = step->lock;
}

/* Another user has it, and has not asked for it. */
static void give(struct model *model, const struct step *step)
{
	struct model_lock *lock = &model->locks[step->lock];
	lock->pending = true;
	lock->given = true;
	lock->claim_by = lock->expires_at;
	if (lock->claim_by == ATLOCK_NEVER && !cast_actors[step->actor].admin)
		lock->claim_by = model_after(model, model->options.default_ttl);
	model->tally[TALLY_GIVEN]++;
}

/* Nobody's wait may suffer from it: what would close a cycle is refused, and nothing of the step has happened. */
static void transfer_to(struct model *model, const struct step *step, const struct model *before)
{
	struct model_lock *lock = &model->locks[step->lock];
	if (step->to == lock->actor) {
		model_want(model, 0);
		return;
	}
	if (step->actor == lock->actor)
		model_claim(model, step->lock);
	bool another = strcmp(cast_actors[lock->actor].owner, cast_actors[step->to].owner) != 0;
	lock->actor = step->to;
	lock->pending = false;
	lock->given = false;
	if (lock->ttl == ATLOCK_NEVER && !cast_actors[step->to].unending && !cast_actors[step->actor].admin &&
	    !cast_locks[step->lock].lasts) {
		lock->ttl = model->options.default_ttl;
		lock->expires_at = model_after(model, lock->ttl);
	}
	if (model_meet_ticket(model, step->lock))
		model->tally[TALLY_TRANSFER_ENDED_WAIT]++;
	else if (another)
		give(model, step);
	changed(model, step->lock, ATLOCK_EVENT_TRANSFERRED);
	model->tally[TALLY_TRANSFERRED]++;
	if (model->options.policy == ATLOCK_DEADLOCK_OFF || !model_in_cycle(model, step->lock, step->to)) {
		model_want(model, 0);
		return;
	}
	model_undo(model, before);
	model->tally[TALLY_TRANSFER_REFUSED]++;
	model_want(model, -EDEADLK);
}

static void transfer(struct model *model, const struct step *step)
{
	struct model before = *model;
	model_settle(model, step->lock);
	if (!refuse_change(model, step, forced(step)))
		transfer_to(model, step, &before);
}

static void write_lines(struct model *model, const struct step *step)
{
	struct model_lock *lock = &model->locks[step->lock];
	struct model before = *model;
	bool leased = step->line == LINE_TTL || step->line == LINE_RENEW;
	model_settle(model, step->lock);
	if (refuse_change(model, step, false)) {
		if (step->line == LINE_BAD || leased)
			model_want(model, -EINVAL);
		return;
	}
	int err = step->line == LINE_BAD ? -EINVAL : 0;
	if (!err && leased)
		err = lease_change(model, step, step->line == LINE_RENEW);
	if (err < 0) {
		model_want(model, err);
		return;
	}
	model_claim(model, step->lock);
	if (step->replace)
		memset(lock->meta, 0, sizeof lock->meta);
	model_meta(step, lock->meta);
	changed(model, step->lock, ATLOCK_EVENT_CHANGED);
	model->tally[TALLY_WRITTEN]++;
	if (step->line == LINE_WHO)
		transfer_to(model, step, &before);
	else
		model_want(model, 0);
}

static void change_mode(struct model *model, const struct step *step)
{
	model_settle(model, step->lock);
	if (refuse_change(model, step, forced(step)))
		return;
	model_want(model, 0);
	if (holds(model, step->lock, step->actor))
		model_claim(model, step->lock);
	model->locks[step->lock].mode = step->mode;
	changed(model, step->lock, ATLOCK_EVENT_CHANGED);
}

static void claim(struct model *model, const struct step *step)
{
	const struct model_lock *lock = &model->locks[step->lock];
	model_settle(model, step->lock);
	if (lock->held && step->version && step->version != lock->version)
		model_want(model, -EAGAIN);
	if (holds(model, step->lock, step->actor)) {
		if (model->out->wants > 0)
			return;
		model_want(model, lock->pending ? 0 : 1);
		model_claim(model, step->lock);
		return;
	}
	model_want(model, 1);
	if (!lock->held)
		model_want(model, -ENOENT);
	else
		model_want(model, cast_same_uid(lock->actor, step->actor) ? -EPERM : -EACCES);
}

void model_lock_step(struct model *model, const struct step *step)
{
	switch (step->op) {
	case STEP_ACQUIRE: acquire(model, step); break;
	case STEP_ACQUIRE_ALL: acquire_all(model, step); break;
	case STEP_RELEASE: release(model, step); break;
	case STEP_RENEW: renew(model, step); break;
	case STEP_TRANSFER: transfer(model, step); break;
	case STEP_WRITE: write_lines(model, step); break;
	case STEP_CHMOD: change_mode(model, step); break;
	default: claim(model, step); break;
	}
}
