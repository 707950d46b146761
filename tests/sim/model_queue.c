#include <errno.h>
#include <string.h>

#include "model_parts.h"

static bool served_before(const struct model_ticket *a, const struct model_ticket *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->order < b->order;
}

int model_service_order(const struct model_lock *lock, int order[MODEL_TICKETS])
{
	for (int i = 0; i < lock->tickets_len; i++) {
		int at = i;
		for (; at > 0 && served_before(&lock->tickets[i], &lock->tickets[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	return lock->tickets_len;
}

static void tell(struct model *model, int lock, int waiter, int err)
{
	struct model_outcome *out = model->out;
	out->told[out->told_len++] = (struct model_told){
		.waiter = waiter,
		.err = err,
		.lock = lock,
		.grant = err ? 0 : model->locks[lock].grant,
	};
}

static void ticket_remove(struct model *model, int index, int at)
{
	struct model_lock *lock = &model->locks[index];
	lock->tickets[at] = lock->tickets[--lock->tickets_len];
	model->out->dirty |= 1U << index;
}

void model_ticket_drop(struct model *model, int index, int at, int err)
{
	int waiter = model->locks[index].tickets[at].waiter;
	if (waiter >= 0)
		tell(model, index, waiter, err);
	ticket_remove(model, index, at);
}

int model_drop_actor(struct model *model, int index, int actor, int err)
{
	struct model_lock *lock = &model->locks[index];
	int dropped = 0;
	for (int i = lock->tickets_len - 1; i >= 0; i--) {
		if (lock->tickets[i].actor != actor)
			continue;
		model_ticket_drop(model, index, i, err);
		dropped++;
	}
	return dropped;
}

void model_drop_timed_out(struct model *model, int index, int at)
{
	model_event(model, index, ATLOCK_EVENT_TIMED_OUT);
	model->tally[TALLY_TIMED_OUT]++;
	model_ticket_drop(model, index, at, -ETIMEDOUT);
}

void model_drop_late(struct model *model, int index)
{
	struct model_lock *lock = &model->locks[index];
	for (int i = lock->tickets_len - 1; i >= 0; i--) {
		if (lock->tickets[i].deadline < model->now)
			model_drop_timed_out(model, index, i);
	}
}

static bool any_parked(const struct model_lock *lock, int actor)
{
	for (int i = 0; i < lock->tickets_len; i++) {
		if (lock->tickets[i].actor == actor && lock->tickets[i].waiter >= 0)
			return true;
	}
	return false;
}

void model_hand_over(struct model *model, int index)
{
	struct model_lock *lock = &model->locks[index];
	int order[MODEL_TICKETS] = { 0 };
	/* Only those in front: whoever is late further back is found when the lock is next settled. */
	while (model_service_order(lock, order) > 0 && lock->tickets[order[0]].deadline < model->now)
		model_drop_timed_out(model, index, order[0]);
	if (lock->tickets_len == 0)
		return;
	struct model_ticket first = lock->tickets[order[0]];
	for (int i = 0; i < lock->tickets_len; i++) {
		if (lock->tickets[i].order < first.order) {
			model->tally[TALLY_OVERTAKEN]++;
			break;
		}
	}
	bool parked = any_parked(lock, first.actor);
	model_grant(model, index, first.actor, first.ttl, first.meta);
	if (!parked) {
		lock->pending = true;
		lock->claim_by = model_after(model, model->options.claim_timeout);
	}
	model_event(model, index, ATLOCK_EVENT_GRANTED);
	model->tally[parked ? TALLY_GRANTED_PARKED : TALLY_GRANTED_PENDING]++;
	if (model_drop_actor(model, index, first.actor, 0) > 1)
		model->tally[TALLY_GRANTED_SEVERAL]++;
	model_break_cycles(model, index, first.actor, 0);
}

bool model_meet_ticket(struct model *model, int index)
{
	struct model_lock *lock = &model->locks[index];
	int order[MODEL_TICKETS] = { 0 };
	int len = model_service_order(lock, order);
	int at = 0;
	while (at < len && lock->tickets[order[at]].actor != lock->actor)
		at++;
	if (at == len)
		return false;
	const struct model_ticket *first = &lock->tickets[order[at]];
	lock->mode = 0644;
	lock->renewed_at = model->now;
	lock->ttl = first->ttl;
	lock->expires_at = model_after(model, first->ttl);
	memcpy(lock->meta, first->meta, sizeof lock->meta);
	lock->pending = !any_parked(lock, lock->actor);
	lock->claim_by = model_after(model, model->options.claim_timeout);
	model_drop_actor(model, index, lock->actor, 0);
	return true;
}

static bool valid_request(const struct model *model, const struct step *step)
{
	return model_ttl_valid(model, step->actor, step->ttl) && step->timeout >= 0 && step->priority >= 0 &&
	       step->priority < ATLOCK_PRIORITIES;
}

/* The lock is free or the caller's own: there is nothing to wait for. */
static void take_now(struct model *model, const struct step *step)
{
	struct model_lock *lock = &model->locks[step->lock];
	if (!valid_request(model, step)) {
		model_want(model, -EINVAL);
		return;
	}
	model_want(model, step->op == STEP_WAIT ? 0 : 2);
	model->out->granted = step->lock;
	if (!lock->held) {
		int meta[STEP_KEYS] = { 0 };
		model_meta(step, meta);
		model_grant(model, step->lock, step->actor, model_ttl(model, step->lock, step->actor, step->ttl), meta);
		model_event(model, step->lock, ATLOCK_EVENT_ACQUIRED);
		model->tally[TALLY_ACQUIRED]++;
		return;
	}
	model_again(model, step, step->lock);
}

static const struct model_ticket *persistent_ticket(const struct model_lock *lock, int actor)
{
	for (int i = 0; i < lock->tickets_len; i++) {
		if (lock->tickets[i].actor == actor && lock->tickets[i].waiter < 0)
			return &lock->tickets[i];
	}
	return NULL;
}

static bool same_owner_who(const struct model_lock *lock, const struct step *step)
{
	if (step->self < 0 || !lock->held)
		return false;
	const char *owner = cast_actors[step->actor].owner;
	return cast_find_actor(owner, cast_actors[step->self].who) == lock->actor;
}

static uint64_t ticket_add(struct model *model, const struct step *step)
{
	struct model_lock *lock = &model->locks[step->lock];
	struct model_ticket *ticket = &lock->tickets[lock->tickets_len++];
	*ticket = (struct model_ticket){
		.order = ++model->order,
		.actor = step->actor,
		.priority = step->priority,
		.waiter = step->op == STEP_WAIT ? step->waiter : -1,
		.since = model->now,
		.deadline = model_after(model, step->timeout ? step->timeout : model->options.queue_timeout),
		.ttl = model_ttl(model, step->lock, step->actor, step->ttl),
	};
	model_meta(step, ticket->meta);
	model_event(model, step->lock, ATLOCK_EVENT_QUEUED);
	return ticket->order;
}

static void join(struct model *model, const struct step *step)
{
	struct model_lock *lock = &model->locks[step->lock];
	model_settle(model, step->lock);
	if (same_owner_who(lock, step)) {
		model_want(model, -EDEADLK);
		if (!valid_request(model, step))
			model_want(model, -EINVAL);
		return;
	}
	bool delayed = lock->delay_until != MODEL_NO_DELAY;
	if ((lock->held && lock->actor == step->actor) || (!lock->held && !delayed)) {
		take_now(model, step);
		return;
	}
	const struct model_ticket *old = step->op == STEP_ENQUEUE ? persistent_ticket(lock, step->actor) : NULL;
	if (!valid_request(model, step)) {
		model_want(model, -EINVAL);
		if (lock->tickets_len >= model->options.max_queue)
			model_want(model, -EDQUOT);
		return;
	}
	if (old) {
		model->out->ticket = old->number;
		model_want(model, 1);
		return;
	}
	if (lock->tickets_len >= model->options.max_queue) {
		model_want(model, -EDQUOT);
		model->tally[TALLY_QUEUE_FULL]++;
		return;
	}
	uint64_t order = ticket_add(model, step);
	model->tally[step->op == STEP_WAIT ? TALLY_PARKED : TALLY_QUEUED]++;
	if (model_break_cycles(model, step->lock, step->actor, order)) {
		model_want(model, -EDEADLK);
		model->out->lost = true;
		return;
	}
	model->out->ticket_order = order;
	model_want(model, step->op == STEP_WAIT ? 1 : 0);
}

static int ticket_find(const struct model_lock *lock, uint64_t number)
{
	for (int i = 0; i < lock->tickets_len; i++) {
		if (lock->tickets[i].number == number)
			return i;
	}
	return -1;
}

/* Finds the ticket a call is about and whether it may touch it; -1 if not, and then the answer is there. */
static int ticket_for(struct model *model, const struct step *step)
{
	struct model_lock *lock = &model->locks[step->lock];
	model_settle(model, step->lock);
	int at = ticket_find(lock, step->ticket);
	if (at < 0) {
		model_want(model, 1);
		return -1;
	}
	int actor = lock->tickets[at].actor;
	if (actor == step->actor || (step->force && cast_actors[step->actor].admin))
		return at;
	model_want(model, cast_same_uid(actor, step->actor) ? -EPERM : -EACCES);
	return -1;
}

static void cancel(struct model *model, const struct step *step)
{
	int at = ticket_for(model, step);
	if (at < 0)
		return;
	model_ticket_drop(model, step->lock, at, -ECANCELED);
	model->tally[TALLY_CANCELLED]++;
	model_want(model, 0);
}

static void reprioritise(struct model *model, const struct step *step)
{
	int at = ticket_for(model, step);
	if (step->priority < 0 || step->priority >= ATLOCK_PRIORITIES) {
		model->out->want[model->out->wants++] = -EINVAL;
		return;
	}
	if (at < 0)
		return;
	struct model_ticket *ticket = &model->locks[step->lock].tickets[at];
	model_want(model, 0);
	if (ticket->priority == step->priority)
		return;
	ticket->priority = step->priority;
	ticket->order = ++model->order;
	ticket->number = 0;
	ticket->moved = true;
	model_event(model, step->lock, ATLOCK_EVENT_REPRIORITISED);
	model->tally[TALLY_REPRIORITISED]++;
}

static bool waiter_find(const struct model *model, int waiter, int *lock, int *at)
{
	for (*lock = 0; *lock < CAST_LOCKS; ++*lock) {
		for (*at = 0; *at < model->locks[*lock].tickets_len; ++*at) {
			if (model->locks[*lock].tickets[*at].waiter == waiter)
				return true;
		}
	}
	return false;
}

/* Ends one wait and nothing else: what is over on that lock stays for the next call. */
static void wait_cancel(struct model *model, const struct step *step)
{
	int lock;
	int at;
	if (!waiter_find(model, step->waiter, &lock, &at)) {
		model_want(model, 1);
		return;
	}
	ticket_remove(model, lock, at);
	model->tally[TALLY_WAIT_CANCELLED]++;
	model_want(model, 0);
}

void model_queue_step(struct model *model, const struct step *step)
{
	switch (step->op) {
	case STEP_CANCEL: cancel(model, step); break;
	case STEP_REPRIORITISE: reprioritise(model, step); break;
	case STEP_WAIT_CANCEL: wait_cancel(model, step); break;
	default: join(model, step); break;
	}
}
