#include <inttypes.h>
#include <string.h>

#include "atlock/check.h"
#include "atlock/manual.h"
#include "compare.h"

static bool query_fits(const struct step *step, int lock, int actor)
{
	const char *prefix = step_prefix(step);
	switch (step->query) {
	case QUERY_PREFIX: return strncmp(cast_locks[lock].path, prefix, strlen(prefix)) == 0;
	case QUERY_OWNER: return strcmp(cast_actors[actor].owner, cast_actors[step->actor].owner) == 0;
	case QUERY_WHO: return strcmp(cast_actors[actor].who, cast_actors[step->actor].who) == 0;
	case QUERY_PULL: return cast_actors[actor].pull == step->pull && cast_locks[lock].repo == step->repo;
	default: return true;
	}
}

bool compare_listing(struct compare *compare, const struct model *model, const struct step *step,
		     const struct rig_result *result)
{
	if (result->listed_badly)
		return compare_differ(compare, "listing is out of order or has what it should not");
	for (int i = 0; i < CAST_LOCKS; i++) {
		const struct model_lock *lock = &model->locks[i];
		bool held = lock->held && lock->expires_at >= model->now;
		bool unclaimed = held && lock->pending && lock->claim_by < model->now;
		bool want = held && query_fits(step, i, lock->actor);
		bool found = result->listed & 1U << i;
		if (found != want && !(want && unclaimed))
			return compare_differ(compare, "listing: %s is %s", cast_locks[i].path,
					      found ? "there but should not be" : "missing");
	}
	return true;
}

static bool compare_ticket(struct compare *compare, int index, const struct model_ticket *ticket, int position)
{
	struct atlock *al = compare->seen.al;
	const struct atlock_name *name = &cast_locks[index].name;
	const struct cast_actor *actor = &cast_actors[ticket->actor];
	struct atlock_ticket found = { 0 };
	int ret = atlock_ticket_get(al, name, ticket->number, NULL, NULL, &found);
	bool fits = ret == 0 && found.ticket == ticket->number && found.position == (uint64_t)position &&
		    found.expected >= -1;
	if (ret == 0)
		atlock_ticket_clear(&found);
	if (!fits)
		return compare_differ(compare, "ticket %" PRIu64 " of %s: position %" PRIu64 ", expected %d",
				      ticket->number, cast_locks[index].path, found.position, position);
	ret = atlock_ticket_get(al, name, 0, actor->owner, actor->who, &found);
	fits = ret == 0 && found.position <= (uint64_t)position;
	if (ret == 0)
		atlock_ticket_clear(&found);
	return fits ||
	       compare_differ(compare, "no ticket of %s@%s on %s", actor->owner, actor->who, cast_locks[index].path);
}

struct queues {
	uint64_t waiters[CAST_LOCKS];
	bool alien;
};

static int queue_note(void *arg, const struct atlock_name *name, uint64_t waiters)
{
	struct queues *queues = arg;
	int lock = cast_find_lock(name);
	if (lock < 0)
		queues->alien = true;
	else
		queues->waiters[lock] += waiters;
	return 0;
}

/* While nothing is over that nobody has settled, everything can be counted exactly. */
static bool compare_counts(struct compare *compare, const struct model *model)
{
	struct queues queues = { 0 };
	struct atlock_status status = { 0 };
	uint64_t held = 0;
	uint64_t waiting = 0;
	if (atlock_queues(compare->seen.al, NULL, queue_note, &queues) < 0 ||
	    atlock_status(compare->seen.al, &status) < 0)
		return compare_differ(compare, "queues or status cannot be read");
	for (int i = 0; i < CAST_LOCKS; i++) {
		const struct model_lock *lock = &model->locks[i];
		int order[MODEL_TICKETS];
		int tickets = model_service_order(lock, order);
		held += lock->held;
		waiting += (uint64_t)tickets;
		if (queues.alien || queues.waiters[i] != (uint64_t)tickets)
			return compare_differ(compare, "queues: %s has %" PRIu64 " waiters, expected %d",
					      cast_locks[i].path, queues.waiters[i], tickets);
		for (int j = 0; j < tickets; j++) {
			if (!compare_ticket(compare, i, &lock->tickets[order[j]], j + 1))
				return false;
		}
	}
	if (status.held != held || status.waiting != waiting)
		return compare_differ(compare,
				      "status: %" PRIu64 " held, %" PRIu64 " waiting, expected %" PRIu64 ", %" PRIu64,
				      status.held, status.waiting, held, waiting);
	return true;
}

bool compare_store(struct compare *compare, const struct model *model, bool deep)
{
	int64_t due = model_next_due(model);
	int64_t found = atlock_next_due(compare->seen.al);
	if (found != due && (due == ATLOCK_NEVER || found != due + 1))
		return compare_differ(compare, "next due at %" PRId64 ", expected %" PRId64, found, due);
	if (due >= model->now && !compare_counts(compare, model))
		return false;
	int64_t wrong = deep ? atlock_check(compare->seen.al, stderr) : 0;
	if (wrong != 0)
		return compare_differ(compare, "atlock_check found %" PRId64 " things wrong", wrong);
	return true;
}
