#include <errno.h>
#include <string.h>

#include "model_parts.h"

/* A bit set of the actors that go, in one repository or (-1) everywhere. */
struct leaving {
	unsigned actors;
	int repo;
};

static bool leaves(const struct leaving *leaving, int lock, int actor)
{
	return (leaving->actors & 1U << actor) && (leaving->repo < 0 || cast_locks[lock].repo == leaving->repo);
}

static void drop_tickets(struct model *model, const struct leaving *leaving, int index)
{
	struct model_lock *lock = &model->locks[index];
	for (int i = lock->tickets_len - 1; i >= 0; i--) {
		if (leaves(leaving, index, lock->tickets[i].actor))
			model_ticket_drop(model, index, i, -ECANCELED);
	}
}

/* Whoever is past his deadline has not left but come too late. */
static void drop_late_tickets(struct model *model, const struct leaving *leaving, int index)
{
	struct model_lock *lock = &model->locks[index];
	for (int i = lock->tickets_len - 1; i >= 0; i--) {
		if (leaves(leaving, index, lock->tickets[i].actor) && lock->tickets[i].deadline < model->now)
			model_drop_timed_out(model, index, i);
	}
}

static void drop_lock(struct model *model, const struct leaving *leaving, int index)
{
	struct model_lock *lock = &model->locks[index];
	if (!lock->held || !leaves(leaving, index, lock->actor))
		return;
	lock->held = false;
	model->out->released++;
	model_event(model, index, ATLOCK_EVENT_RELEASED);
	model_hand_over(model, index);
}

/*
 * Tickets go before locks, so that nothing is handed to one who leaves. What is over ends first where a lock is given
 * back, but not where only a ticket goes.
 */
static void leave(struct model *model, const struct leaving *leaving)
{
	for (int i = 0; i < CAST_LOCKS; i++) {
		drop_late_tickets(model, leaving, i);
		drop_tickets(model, leaving, i);
	}
	for (int i = 0; i < CAST_LOCKS; i++) {
		if (model->locks[i].held && leaves(leaving, i, model->locks[i].actor))
			model_settle(model, i);
	}
	for (int i = 0; i < CAST_LOCKS; i++)
		drop_lock(model, leaving, i);
}

/* Nothing is settled by that, not even a lease that was over while the manager was away. */
void model_end_flocks(struct model *model)
{
	struct leaving flocks = { .repo = -1 };
	for (int i = 0; i < CAST_ACTORS; i++)
		flocks.actors |= strncmp(cast_actors[i].who, "flock:", 6) == 0 ? 1U << i : 0;
	for (int i = 0; i < CAST_LOCKS; i++)
		drop_tickets(model, &flocks, i);
	for (int i = 0; i < CAST_LOCKS; i++)
		drop_lock(model, &flocks, i);
}

void model_holder_step(struct model *model, const struct step *step)
{
	leave(model, &(struct leaving){ .actors = 1U << step->actor, .repo = -1 });
	model_want(model, 0);
	model->tally[TALLY_HOLDER_RELEASED] += model->out->released > 0;
}

void model_pull_step(struct model *model, const struct step *step)
{
	const struct cast_actor *caller = &cast_actors[step->actor];
	struct leaving mine = { .repo = step->repo };
	for (int i = 0; i < CAST_ACTORS; i++) {
		bool may = caller->admin || strcmp(cast_actors[i].owner, caller->owner) == 0;
		if (may && cast_actors[i].pull == step->pull)
			mine.actors |= 1U << i;
	}
	leave(model, &mine);
	model_want(model, 0);
	model->tally[TALLY_PULL_RELEASED] += model->out->released > 0;
}
