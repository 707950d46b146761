/* What the files of the model share with each other. A lock is named by its index in the cast; `at` is a ticket's place in its array. */
#ifndef SIM_MODEL_PARTS_H
#define SIM_MODEL_PARTS_H

#include "model.h"

/* Which of n ways to take; 0 is the first idea. */
int choice_take(struct model *model, enum choice_kind kind, int n);

/* model.c. However much a call changes, it is one version. */
int64_t model_after(const struct model *model, int64_t duration);
void model_event(struct model *model, int lock, enum atlock_event_type type);
void model_want(struct model *model, int value);
void model_drop_timed_out(struct model *model, int index, int at);
void model_settle(struct model *model, int index);
void model_version(struct model *model, int index);
/* The lease that the holder of a pending lock has once it claims it. */
int64_t model_claimed_ttl(const struct model *model, const struct model_lock *lock);
void model_claim(struct model *model, int index);
bool model_ttl_valid(const struct model *model, int actor, int64_t ttl);
int64_t model_ttl(const struct model *model, int index, int actor, int64_t ttl);

/* Takes back everything this step has done so far, but not what it answers. */
void model_undo(struct model *model, const struct model *before);

/* model_lock.c: model_meta() sets the keys of a step in `meta`; model_again() is a holder's call for what it holds. */
void model_lock_step(struct model *model, const struct step *step);
void model_grant(struct model *model, int index, int actor, int64_t ttl, const int meta[STEP_KEYS]);
void model_meta(const struct step *step, int meta[STEP_KEYS]);
void model_again(struct model *model, const struct step *step, int index);

/* model_release.c. An flock(2) ends with the manager its file was open in. */
void model_end_flocks(struct model *model);
void model_pull_step(struct model *model, const struct step *step);
void model_holder_step(struct model *model, const struct step *step);

/*
 * model_queue.c. Dropping tells a parked waiter `err`; model_drop_actor() drops every ticket of an actor on a lock and
 * returns how many; model_drop_late() those past their deadline.
 */
void model_queue_step(struct model *model, const struct step *step);
void model_ticket_drop(struct model *model, int index, int at, int err);
int model_drop_actor(struct model *model, int index, int actor, int err);
void model_drop_late(struct model *model, int index);
void model_hand_over(struct model *model, int index);
/* The holder was just changed. If it has a ticket here, the lock becomes what that asked for; false if it has none. */
bool model_meet_ticket(struct model *model, int index);

/*
 * model_cycle.c: breaks every cycle through `actor` as one that waits for or holds `lock`; true if the ticket of order
 * `request` was lost by that (its waiter is not told: the call itself says so). Those that such a request is no part of
 * may be left. Whether there is one. And breaks every cycle there is; how many.
 */
bool model_break_cycles(struct model *model, int lock, int actor, uint64_t request);
bool model_in_cycle(const struct model *model, int lock, int actor);
int model_break_all(struct model *model);

#endif
