#include "compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool compare_differ(struct compare *compare, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)vsnprintf(compare->text, sizeof compare->text, format, args);
	va_end(args);
	return false;
}

/* The code that goes with an errno; several where one errno has several reasons. */
static bool code_fits(int err, enum atlock_code code)
{
	static const struct {
		int err;
		enum atlock_code codes[2];
	} table[] = {
		{ EEXIST, { ATLOCK_LOCK_EXISTS } },
		{ EBUSY, { ATLOCK_LOCK_EXISTS } },
		{ EACCES, { ATLOCK_LOCK_EXISTS, ATLOCK_PERMISSION_DENIED } },
		{ EPERM, { ATLOCK_PERMISSION_DENIED } },
		{ ENOENT, { ATLOCK_LOCK_NOT_FOUND } },
		{ EINVAL, { ATLOCK_INVALID_REQUEST } },
		{ EDQUOT, { ATLOCK_QUEUE_FULL } },
		{ EDEADLK, { ATLOCK_DEADLOCK } },
		{ EAGAIN, { ATLOCK_VERSION_CONFLICT } },
		{ EIO, { ATLOCK_BACKEND_ERROR } },
		{ ETIMEDOUT, { ATLOCK_TIMEOUT } },
		{ ECANCELED, { ATLOCK_CANCELLED } },
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (table[i].err == -err)
			return code == table[i].codes[0] || code == table[i].codes[1];
	}
	return false;
}

static bool compare_return(struct compare *compare, const struct model_outcome *out, const struct step *step,
			   const struct rig_result *result)
{
	bool fits = out->any_positive && result->ret > 0;
	for (int i = 0; i < out->wants; i++)
		fits |= out->want[i] == result->ret;
	if (!fits && out->any_positive)
		return compare_differ(compare, "returned %d, expected a count above 0", result->ret);
	if (!fits)
		return compare_differ(compare, "returned %d, expected %d%s", result->ret, out->want[0],
				      out->wants > 1 ? " (or what else stands in the way)" : "");
	bool explains = step->op < STEP_RUN_DUE && step->op != STEP_WAIT_CANCEL;
	if (result->ret < 0 && explains && (!code_fits(result->ret, result->why.code) || !result->why.text[0]))
		return compare_differ(compare, "errno %d came with the code %d and \"%s\"", -result->ret,
				      (int)result->why.code, result->why.text);
	return true;
}

static bool compare_grant(struct compare *compare, const struct model_lock *lock, const struct atlock_grant *grant)
{
	if (lock->token == grant->token && lock->version == grant->version && lock->expires_at == grant->expires_at &&
	    lock->acquired_at == grant->acquired_at)
		return true;
	return compare_differ(compare,
			      "grant: token %" PRIu64 " version %" PRIu64 " acquired %" PRId64 " expires %" PRId64
			      ", expected %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64,
			      grant->token, grant->version, grant->acquired_at, grant->expires_at, lock->token,
			      lock->version, lock->acquired_at, lock->expires_at);
}

static bool compare_out(struct compare *compare, const struct model *model, const struct model_outcome *out,
			const struct step *step, const struct rig_result *result)
{
	if (out->granted >= 0 && result->ret >= 0 &&
	    !compare_grant(compare, &model->locks[out->granted], &result->grants[0]))
		return false;
	if (step->op == STEP_ACQUIRE_ALL && result->ret >= 0) {
		for (int i = 0; i < step->locks_len; i++) {
			if (!compare_grant(compare, &model->locks[step->locks[i]], &result->grants[i]))
				return false;
		}
	}
	if (out->failed >= 0 && result->ret != -EINVAL && (size_t)out->failed != result->failed_index)
		return compare_differ(compare, "failed index %zu, expected %d", result->failed_index, out->failed);
	if (out->ticket && result->ret == 1 && out->ticket != result->ticket)
		return compare_differ(compare, "ticket %" PRIu64 ", expected %" PRIu64, result->ticket, out->ticket);
	/* What was handed over and released in one call has a token that nobody saw before. */
	bool known = out->released_token == result->released_token ||
		     (out->released_token == 0 && result->released_token > compare->floor);
	if (step->op == STEP_RELEASE && result->ret == 0 && !known)
		return compare_differ(compare, "released token %" PRIu64 ", expected %" PRIu64, result->released_token,
				      out->released_token);
	if ((step->op == STEP_RELEASE_PULL || step->op == STEP_RELEASE_HOLDER) && result->released != out->released)
		return compare_differ(compare, "released %zu, expected %zu", result->released, out->released);
	if (step->op != STEP_ENQUEUE || result->ret != 0)
		return true;
	const struct model_lock *lock = &model->locks[step->lock];
	for (int i = 0; i < lock->tickets_len; i++) {
		if (lock->tickets[i].order == out->ticket_order && lock->tickets[i].number == result->ticket)
			return true;
	}
	return compare_differ(compare, "answered ticket %" PRIu64 " is not the one in the queue", result->ticket);
}

/* Grants are told in the order they were made, each to the right one and with what the lock now shows. */
static bool compare_told_grants(struct compare *compare, const struct model *model, const struct model_told *want,
				const struct rig_told *told)
{
	const struct model_lock *lock = &model->locks[want->lock];
	if (want->err != 0)
		return code_fits(want->err, told->code) ||
		       compare_differ(compare, "waiter %d heard errno %d with code %d", want->waiter, -want->err,
				      (int)told->code);
	if (lock->grant != want->grant || !lock->held)
		return true;
	/* The very call that handed it over may have changed the lease since. */
	if (told->grant.token == lock->token && (told->grant.expires_at == lock->expires_at || lock->version > 1))
		return true;
	return compare_differ(compare, "waiter %d heard token %" PRIu64 " until %" PRId64, want->waiter,
			      told->grant.token, told->grant.expires_at);
}

bool compare_told(struct compare *compare, const struct model *model, const struct model_told *want, int want_len,
		  const struct rig_result *result)
{
	bool used[RIG_TOLD] = { false };
	uint64_t last = 0;
	for (int i = 0; i < want_len; i++) {
		int at = 0;
		while (at < result->told_len && (used[at] || result->told[at].waiter != want[i].waiter))
			at++;
		if (at == result->told_len)
			return compare_differ(compare, "waiter %d was not told %d (%s)", want[i].waiter, want[i].err,
					      cast_locks[want[i].lock].path);
		if (result->told[at].err != want[i].err)
			return compare_differ(compare, "waiter %d was told %d, expected %d (%s)", want[i].waiter,
					      result->told[at].err, want[i].err, cast_locks[want[i].lock].path);
		used[at] = true;
		if (!compare_told_grants(compare, model, &want[i], &result->told[at]))
			return false;
	}
	for (int i = 0; i < result->told_len; i++) {
		const struct rig_told *told = &result->told[i];
		if (!used[i] || compare->rig->waits[told->waiter].told != 1 ||
		    !compare->rig->waits[told->waiter].parked)
			return compare_differ(compare, "waiter %d was told %d, expected nothing%s", told->waiter,
					      told->err, used[i] ? " (once more, or it was not parked)" : "");
		if (told->err == 0 && told->grant.token < last)
			return compare_differ(compare, "grants were told out of order");
		if (told->err == 0)
			last = told->grant.token;
	}
	return true;
}

/* Events that belong to one change each; whether claiming, renewing and cancelling write one more is not pinned down. */
static bool compare_events(struct compare *compare, const struct model_outcome *out, const struct rig_result *result)
{
	static const enum atlock_event_type types[] = {
		ATLOCK_EVENT_ACQUIRED, ATLOCK_EVENT_GRANTED,   ATLOCK_EVENT_TRANSFERRED,   ATLOCK_EVENT_RELEASED,
		ATLOCK_EVENT_EXPIRED,  ATLOCK_EVENT_UNCLAIMED, ATLOCK_EVENT_QUEUED,        ATLOCK_EVENT_TIMED_OUT,
		ATLOCK_EVENT_DEADLOCK, ATLOCK_EVENT_FORCED,    ATLOCK_EVENT_REPRIORITISED,
	};
	unsigned seen[CAST_LOCKS][ATLOCK_EVENTS] = { 0 };
	uint64_t last = compare->floor;
	if (result->events_gap)
		return compare_differ(compare, "event numbers do not follow each other");
	for (int i = 0; i < result->events_len; i++) {
		const struct rig_event *event = &result->events[i];
		if (event->lock < 0)
			continue;
		seen[event->lock][event->type]++;
		if (event->type != ATLOCK_EVENT_ACQUIRED && event->type != ATLOCK_EVENT_GRANTED)
			continue;
		if (event->token <= last)
			return compare_differ(compare, "token %" PRIu64 " is not above %" PRIu64, event->token, last);
		last = event->token;
	}
	for (int lock = 0; lock < CAST_LOCKS; lock++) {
		for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
			unsigned found = seen[lock][types[i]];
			unsigned want = out->events[lock][types[i]];
			bool same = types[i] == ATLOCK_EVENT_DEADLOCK ? !found == !want : found == want;
			if (!same)
				return compare_differ(compare, "%u events %s of %s, expected %u", found,
						      atlock_event_name(types[i]), cast_locks[lock].path, want);
		}
	}
	return true;
}

bool compare_answer(struct compare *compare, struct model *model, const struct model_outcome *out,
		    const struct step *step, const struct rig_result *result)
{
	return compare_return(compare, out, step, result) && compare_out(compare, model, out, step, result) &&
	       compare_told(compare, model, out->told, out->told_len, result) && compare_events(compare, out, result) &&
	       (step->op != STEP_LIST || compare_listing(compare, model, step, result));
}

static bool queue_differs(const struct model_lock *before, const struct model_lock *after)
{
	int left[MODEL_TICKETS];
	int right[MODEL_TICKETS];
	int waiting = model_service_order(before, left);
	if (waiting != model_service_order(after, right))
		return true;
	for (int i = 0; i < waiting; i++) {
		if (before->tickets[left[i]].order != after->tickets[right[i]].order)
			return true;
	}
	return false;
}

bool compare_changes(struct compare *compare, const struct model *before, const struct model *after,
		     const struct rig_result *result)
{
	if (result->failed && (result->changed_locks || result->changed_queues))
		return compare_differ(compare, "a change was announced but the commit failed");
	for (int i = 0; i < CAST_LOCKS && !result->reopened; i++) {
		const struct model_lock *old = &before->locks[i];
		const struct model_lock *new = &after->locks[i];
		bool differs = old->held != new->held ||
			       (new->held && (old->grant != new->grant || old->version != new->version));
		if (differs && !(result->changed_locks & 1U << i))
			return compare_differ(compare, "no change of %s was announced", cast_locks[i].path);
		if (queue_differs(old, new) && !(result->changed_queues & 1U << i))
			return compare_differ(compare, "no change of the queue of %s was announced",
					      cast_locks[i].path);
	}
	return true;
}

uint64_t compare_floor(const struct compare *compare, const struct model *model, const struct rig_result *result)
{
	uint64_t floor = compare->floor;
	for (int i = 0; i < result->events_len; i++) {
		if (result->events[i].token > floor)
			floor = result->events[i].token;
	}
	for (int i = 0; i < CAST_LOCKS; i++) {
		const struct model_lock *lock = &model->locks[i];
		if (lock->held && lock->token > floor)
			floor = lock->token;
		for (int j = 0; j < lock->tickets_len; j++) {
			if (lock->tickets[j].number > floor)
				floor = lock->tickets[j].number;
		}
	}
	return floor;
}
