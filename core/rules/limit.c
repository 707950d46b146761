#include "limit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "dir_path.h"
#include "kept.h"
#include "rate.h"
#include "table.h"
#include "tally.h"
#include "why.h"

#define GIFTS_SHARE 8 /* the part of a user's locks that others may fill with theirs */

static bool is_limited(const struct op *op, int64_t limit)
{
	return limit > 0 && op->caller != NULL && !op->caller->admin;
}

/* What the owner holds and waits for. */
static int locks_count(struct op *op, struct slice owner, uint64_t *out)
{
	uint64_t held = 0;
	uint64_t waits = 0;
	int rc = tally_get(op, TABLE_HELD, owner, &held);

	if (rc == 0)
		rc = tally_get(op, TABLE_WAITS, owner, &waits);
	*out = held + waits;
	return rc;
}

/* Whether a user may have one lock more of at most `max`: 0, or 1 and how many there are. */
static int locks_fill(struct op *op, struct slice owner, uint64_t max, uint64_t *count)
{
	int rc = is_limited(op, op->options->max_locks_per_user) ? locks_count(op, owner, count) : 1;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	return *count >= max;
}

int limit_locks(struct op *op, struct slice owner)
{
	uint64_t max = (uint64_t)op->options->max_locks_per_user;
	uint64_t count;
	int rc = locks_fill(op, owner, max, &count);

	if (rc <= 0)
		return rc;
	return why_set(op->why, -EDQUOT, ATLOCK_QUOTA,
		       "%.*s holds or waits for %" PRIu64
		       " locks, as many as one user may (option max_locks_per_user): release one first",
		       (int)owner.len, (const char *)owner.data, max);
}

int limit_gifts(struct op *op, struct slice owner)
{
	uint64_t max = ((uint64_t)op->options->max_locks_per_user + GIFTS_SHARE - 1) / GIFTS_SHARE;
	uint64_t count;
	int rc = locks_fill(op, owner, max, &count);

	if (rc <= 0)
		return rc;
	return why_set(
		op->why, -EDQUOT, ATLOCK_QUOTA,
		"%.*s holds or waits for %" PRIu64
		" locks and can be given no more (1/%d of option max_locks_per_user): release the lock, so that the other user can take it",
		(int)owner.len, (const char *)owner.data, count, GIFTS_SHARE);
}

int limit_waits(struct op *op)
{
	struct slice owner = slice_of(op->caller->owner);
	uint64_t max = (uint64_t)op->options->max_waiters_per_user;
	uint64_t count = 0;
	int rc;

	if (!is_limited(op, op->options->max_waiters_per_user))
		return limit_locks(op, owner);
	rc = tally_get(op, TABLE_WAITS, owner, &count);
	if (rc < 0)
		return rc;
	if (count < max)
		return limit_locks(op, owner);
	return why_set(op->why, -EDQUOT, ATLOCK_QUOTA,
		       "%s waits %" PRIu64
		       " times, as often as one user may (option max_waiters_per_user): let a wait end first",
		       op->caller->owner, max);
}

/* Counts the owner's tickets in the queue of a lock, up to `enough`. */
static int count_places(struct op *op, struct slice lock, struct slice owner, uint64_t enough, uint64_t *count)
{
	struct ticket ticket = { .number = 0 };
	uint8_t rank = 0;
	int rc = 0;

	*count = 0;
	while (*count < enough && (rc = table_ticket_next(op, lock, rank, ticket.number, &ticket)) == 0) {
		rank = table_rank(ticket.record.priority);
		*count += slice_equal(ticket.record.holder.owner, owner);
	}
	return rc < 0 ? rc : 0;
}

/*
 * The walk over the queue is for a user who has as many waits in all as one user's share of one queue, and for a queue that has as many
 * waiters; others cannot be above it.
 */
int limit_queue(struct op *op, struct slice lock, uint64_t waiters)
{
	struct slice owner = slice_of(op->caller->owner);
	uint64_t share = (uint64_t)(op->options->max_queue * op->options->queue_share / 100);
	uint64_t count = 0;
	int rc;

	if (share == 0)
		share = 1;
	if (op->options->queue_share == 100 || !is_limited(op, op->options->queue_share) || waiters < share)
		return 0;
	rc = tally_get(op, TABLE_WAITS, owner, &count);
	if (rc == 0 && count >= share)
		rc = count_places(op, lock, owner, share, &count);
	if (rc < 0 || count < share)
		return rc;
	return why_set(op->why, -EDQUOT, ATLOCK_QUOTA,
		       "%s has %" PRIu64
		       " place%s in the queue of this lock, as many as one user may (option queue_share, "
		       "in percent of max_queue): let a wait end first",
		       op->caller->owner, share, share == 1 ? "" : "s");
}

int limit_dirs(struct op *op)
{
	uint64_t share = (uint64_t)(op->options->max_dirs * op->options->dirs_share / 100);
	struct record_dirs dirs;
	int rc;

	if (!is_limited(op, op->options->max_dirs))
		return 0;
	if (share == 0)
		share = 1;
	rc = dir_counts(op, &dirs);
	if (rc < 0)
		return rc;
	if (dirs.count < (uint64_t)op->options->max_dirs) {
		rc = op->options->dirs_share == 100 ? 0 : kept_is_over(op, KEPT_DIRS, dirs.count, share - 1);
		if (rc != 1)
			return rc;
		return why_set(op->why, -EDQUOT, ATLOCK_QUOTA,
			       "%s has %" PRIu64
			       " directories in custom/, as many as one user may (option dirs_share, in "
			       "percent of max_dirs): remove empty ones",
			       op->caller->owner, share);
	}
	return why_set(op->why, -EDQUOT, ATLOCK_QUOTA,
		       "custom/ has %" PRIu64 " directories, as many as it may (option max_dirs): remove empty ones",
		       dirs.count);
}

/* --- Calls a second --- */

int limit_rate(struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why)
{
	int64_t limit = state_options(al)->rate_limit;

	if (limit == 0 || caller == NULL || caller->admin ||
	    rates_take(al->rates, caller->uid, ATLOCK_SECOND / limit, clock_now(&al->clock)))
		return 0;
	return why_set(why, -EAGAIN, ATLOCK_RATE_LIMIT,
		       "%s has made %" PRId64
		       " call%s in a second, as many as one user may (option rate_limit): slow down",
		       caller->owner, limit, limit == 1 ? "" : "s");
}
