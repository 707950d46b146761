#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"

/* Learns a number the manager chose, or finds the one learned before. */
static bool number_fits(struct compare *compare, uint64_t *known, uint64_t found)
{
	if (*known == 0 && found > compare->floor)
		*known = found;
	return *known == found && found != 0;
}

static void lock_print(const struct model_lock *lock, char *out, size_t len)
{
	if (!lock->held) {
		(void)snprintf(out, len, "free%s, %d waiting",
			       lock->delay_until != MODEL_NO_DELAY ? " in lock_delay" : "", lock->tickets_len);
		return;
	}
	(void)snprintf(out, len,
		       "%s by %s@%s token %" PRIu64 " version %" PRIu64 " mode %o acquired %" PRId64 " renewed %" PRId64
		       " expires %" PRId64 " ttl %" PRId64 " claim_by %" PRId64 " meta %d,%d,%d,%d, %d waiting",
		       lock->pending ? "pending" : "held", cast_actors[lock->actor].owner, cast_actors[lock->actor].who,
		       lock->token, lock->version, (unsigned)lock->mode, lock->acquired_at, lock->renewed_at,
		       lock->expires_at, lock->ttl, lock->pending ? lock->claim_by : 0, lock->meta[0], lock->meta[1],
		       lock->meta[2], lock->meta[3], lock->tickets_len);
}

static void seen_print(const struct seen_lock *lock, char *out, size_t len)
{
	if (lock->ret != 0) {
		(void)snprintf(out, len, "free (%d), %d waiting", lock->ret, lock->tickets_len);
		return;
	}
	const char *owner = lock->actor >= 0 ? cast_actors[lock->actor].owner : "?";
	const char *who = lock->actor >= 0 ? cast_actors[lock->actor].who : "?";
	(void)snprintf(
		out, len,
		"%s by %s@%s token %" PRIu64 " version %" PRIu64 " mode %o acquired %" PRId64 " renewed %" PRId64
		" expires %" PRId64 " ttl %" PRId64 " claim_by %" PRId64 " meta %d,%d,%d,%d, %d (%" PRIu64 ") waiting",
		lock->state == ATLOCK_PENDING ? "pending" : "held", owner, who, lock->token, lock->version,
		(unsigned)lock->mode, lock->acquired_at, lock->renewed_at, lock->expires_at, lock->ttl, lock->claim_by,
		lock->meta[0], lock->meta[1], lock->meta[2], lock->meta[3], lock->tickets_len, lock->waiters);
}

static void ticket_print(char *out, size_t len, uint64_t number, int actor, int priority, bool parked, int64_t deadline)
{
	size_t used = strlen(out);
	(void)snprintf(out + used, len - used, "\n    ticket %" PRIu64 " %s@%s priority %d%s until %" PRId64, number,
		       actor >= 0 ? cast_actors[actor].owner : "?", actor >= 0 ? cast_actors[actor].who : "?", priority,
		       parked ? " parked" : "", deadline);
}

static void queues_print(const struct model_lock *lock, const struct seen_lock *seen, char *expected, char *found,
			 size_t len)
{
	int order[MODEL_TICKETS];
	int waiting = model_service_order(lock, order);
	for (int i = 0; i < waiting; i++) {
		const struct model_ticket *ticket = &lock->tickets[order[i]];
		ticket_print(expected, len, ticket->number, ticket->actor, ticket->priority, ticket->waiter >= 0,
			     ticket->deadline);
	}
	for (int i = 0; i < seen->tickets_len && i < MODEL_TICKETS; i++) {
		const struct seen_ticket *ticket = &seen->tickets[i];
		ticket_print(found, len, ticket->number, ticket->actor, ticket->priority, ticket->parked,
			     ticket->deadline);
	}
}

static bool lock_differs(struct compare *compare, int index, const struct model_lock *lock, const char *what)
{
	const struct seen_lock *seen = observe_lock(&compare->seen, index);
	char expected[2048];
	char found[2048];
	lock_print(lock, expected, sizeof expected);
	seen_print(seen, found, sizeof found);
	queues_print(lock, seen, expected, found, sizeof expected);
	return compare_differ(compare, "%s: %s\n  expected %s\n  found    %s", cast_locks[index].path, what, expected,
			      found);
}

static bool compare_holder(struct compare *compare, int index, struct model_lock *lock, int64_t now)
{
	const struct seen_lock *seen = observe_lock(&compare->seen, index);
	bool visible = lock->held && lock->expires_at >= now;
	bool unclaimed = visible && lock->pending && lock->claim_by < now;
	if (seen->ret != 0 && seen->ret != 1)
		return lock_differs(compare, index, lock, "cannot be read");
	/* A grant that was not taken up in time and that nobody has settled may show or not. */
	if (seen->ret == 1 && (!visible || unclaimed))
		return true;
	if (seen->ret == 1 || !visible)
		return lock_differs(compare, index, lock, "held or not");
	if (!number_fits(compare, &lock->token, seen->token))
		return lock_differs(compare, index, lock, "token");
	if (lock->actor != seen->actor || seen->uid != cast_actors[lock->actor].uid)
		return lock_differs(compare, index, lock, "holder");
	if ((seen->state == ATLOCK_PENDING) != lock->pending || (lock->pending && lock->claim_by != seen->claim_by))
		return lock_differs(compare, index, lock, "state");
	if (lock->version != seen->version || lock->mode != seen->mode)
		return lock_differs(compare, index, lock, "version or mode");
	if (lock->acquired_at != seen->acquired_at || lock->renewed_at != seen->renewed_at)
		return lock_differs(compare, index, lock, "since");
	if (lock->expires_at != seen->expires_at || lock->ttl != seen->ttl)
		return lock_differs(compare, index, lock, "lease");
	if (memcmp(lock->meta, seen->meta, sizeof lock->meta) != 0)
		return lock_differs(compare, index, lock, "metadata");
	return true;
}

static bool ticket_fits(struct compare *compare, struct model_ticket *ticket, const struct seen_ticket *seen)
{
	return ticket->actor == seen->actor && ticket->priority == seen->priority &&
	       (ticket->waiter >= 0) == seen->parked && ticket->deadline == seen->deadline &&
	       (ticket->ttl == seen->ttl || seen->ttl == 0) && (ticket->since == seen->since || ticket->moved) &&
	       number_fits(compare, &ticket->number, seen->number);
}

/* Tickets past their deadline may still be listed while nobody has settled the lock. */
static bool compare_queue(struct compare *compare, int index, struct model_lock *lock, int64_t now)
{
	const struct seen_lock *seen = observe_lock(&compare->seen, index);
	int order[MODEL_TICKETS];
	int waiting = model_service_order(lock, order);
	int at = 0;
	for (int i = 0; i < waiting; i++) {
		struct model_ticket *ticket = &lock->tickets[order[i]];
		const struct seen_ticket *found = at < seen->tickets_len ? &seen->tickets[at] : NULL;
		if (found && ticket_fits(compare, ticket, found)) {
			if (found->position != (uint64_t)at + 1 && found->position != (uint64_t)i + 1)
				return lock_differs(compare, index, lock, "position in the queue");
			at++;
		} else if (ticket->deadline >= now) {
			char text[64];
			(void)snprintf(text, sizeof text, "place %d of the queue: %s@%s order %" PRIu64, i + 1,
				       cast_actors[ticket->actor].owner, cast_actors[ticket->actor].who, ticket->order);
			return lock_differs(compare, index, lock, text);
		}
	}
	if (at != seen->tickets_len)
		return lock_differs(compare, index, lock, "a ticket too many");
	if (seen->ret == 0 && at == waiting && seen->waiters != (uint64_t)waiting)
		return lock_differs(compare, index, lock, "number of waiters");
	return true;
}

bool compare_locks(struct compare *compare, struct model *model, unsigned locks)
{
	for (int i = 0; i < CAST_LOCKS; i++) {
		if (!(locks & 1U << i))
			continue;
		if (!compare_holder(compare, i, &model->locks[i], model->now) ||
		    !compare_queue(compare, i, &model->locks[i], model->now))
			return false;
	}
	return true;
}
