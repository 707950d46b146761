#include "space.h"

#include <errno.h>

#include "day.h"
#include "event_usage.h"
#include "kept.h"
#include "why.h"

#define SHARE_PART 2   /* part of the store that events may use, so that they leave space for locks */
#define SHARE_MORE 4   /* part of that share which they may use beyond it, for changes that take nothing */
#define ARCHIVE_PART 4 /* part of what is used that events must have, or an archive of them is not worth advising */

/* Event pages are half full: each new page begins with a split of the last one. */
uint64_t space_events_used(const struct record_tail *tail)
{
	return 2 * tail->events;
}

bool space_share_is_used(const struct store_space *space, const struct record_tail *tail)
{
	return space->size > 0 && space_events_used(tail) > space->size / SHARE_PART;
}

bool space_archive_helps(uint64_t events, uint64_t used)
{
	return events >= used / ARCHIVE_PART;
}

/* The advice names what fills the store: an archive of events makes no room where records have taken it. */
static int refuse_space(struct op *op, const struct store_space *space, bool share)
{
	uint64_t events = space_events_used(&op->tail);

	if (!share && !space_archive_helps(events, space->used))
		return why_set(op->why, -EDQUOT, ATLOCK_QUOTA,
			       "the store has no room for more (%ju of %ju MiB used, by locks, pull requests and their "
			       "texts about %ju, by events %ju): release locks, rmdir pulls/ that are closed, or make "
			       "room on its disk",
			       (uintmax_t)(space->used >> 20), (uintmax_t)(space->size >> 20),
			       (uintmax_t)((space->used - events) >> 20), (uintmax_t)(events >> 20));
	return why_set(
		op->why, -EDQUOT, ATLOCK_QUOTA,
		"the store has no room for more%s (%ju of %ju MiB used, by events about %ju): an administrator can "
		"archive events: atlock audit archive --before now FILE; or release locks, or make room on its disk",
		share ? " events, which have used their share of it" : "", (uintmax_t)(space->used >> 20),
		(uintmax_t)(space->size >> 20), (uintmax_t)(events >> 20));
}

uint64_t space_events_all(const struct record_tail *tail)
{
	return space_events_used(tail) + tail->owed;
}

/*
 * The event that ends a grant was charged with the one that began it, so ending is free. What belongs to other users,
 * as a ticket that this operation granted, is charged to them.
 */
void space_charge(struct op *op)
{
	const struct op_charge *charges = (const struct op_charge *)(const void *)op->charges.data;
	int64_t rest = op->tail_dirty ? (int64_t)(space_events_all(&op->tail) - op->events_before) : 0;
	uint32_t today = day_of(op->wall);

	for (size_t i = 0; i < op->charges.len / sizeof(*charges); i++) {
		event_usage_add(op->al->event_usages, charges[i].uid, today, charges[i].bytes);
		rest -= charges[i].bytes;
	}
	if (op->caller != NULL && !op->caller->admin && rest > 0)
		event_usage_add(op->al->event_usages, op->caller->uid, today, rest);
}

/*
 * `share` is what all events may use. A user is over when today's own events exceed what is left of it: stopping there
 * leaves others at least as much as that user took.
 */
static bool user_is_over(struct op *op, uint64_t share)
{
	uint64_t used = space_events_used(&op->tail);

	return op->caller != NULL && !op->caller->admin && used > share / 2 &&
	       event_usage_get(op->al->event_usages, op->caller->uid, day_of(op->wall)) >
		       (used < share ? share - used : 0);
}

static int refuse_user(struct op *op, const struct store_space *space)
{
	return why_set(op->why, -EDQUOT, ATLOCK_QUOTA,
		       "%s has caused more events today than there is space left for (about %ju of %ju MiB used by "
		       "all), and others need space, too: an administrator can archive events: atlock audit archive "
		       "--before now FILE; or go on tomorrow",
		       op->caller->owner, (uintmax_t)(space_events_used(&op->tail) >> 20),
		       (uintmax_t)(space->size / SHARE_PART >> 20));
}

bool space_user_is_over(struct op *op)
{
	struct store_space space;

	store_space(op->al->store, &space);
	return space.size > 0 && user_is_over(op, space.size / SHARE_PART);
}

/* Whether the caller's own records take more than one user's may. */
static int check_kept(struct op *op, const struct store_space *space)
{
	uint64_t limit = space->size / 100 * (uint64_t)op->options->store_share;
	int rc = op->options->store_share == 100 ? 0 : kept_is_over(op, KEPT_BYTES, space->used, limit);

	if (rc != 1)
		return rc;
	return why_set(
		op->why, -EDQUOT, ATLOCK_QUOTA,
		"the locks, waits and texts of %s take %ju MiB of the store, as much as one user's may (option "
		"store_share, %jd percent of %ju MiB): release locks, shorten their texts, or rmdir pulls/ that are "
		"closed",
		op->caller->owner, (uintmax_t)(limit >> 20), (intmax_t)op->options->store_share,
		(uintmax_t)(space->size >> 20));
}

int space_check(struct op *op)
{
	struct store_space space;
	bool share;
	int rc = op_tail(op);

	if (rc < 0)
		return rc;
	store_space(op->al->store, &space);
	share = space_share_is_used(&space, &op->tail);
	if (space.low || share)
		return refuse_space(op, &space, share);
	if (space.size == 0)
		return 0;
	return user_is_over(op, space.size / SHARE_PART) ? refuse_user(op, &space) : check_kept(op, &space);
}

static bool is_scarce(const struct op *op, const struct store_space *space)
{
	uint64_t share = space->size / SHARE_PART;

	return space->scarce || (share > 0 && space_events_used(&op->tail) > share + share / SHARE_MORE);
}

/* A user's own bound is that of taking locks: what one user changes must not use up the share in which others take. */
static bool is_scarce_for_user(struct op *op, const struct store_space *space)
{
	uint64_t share = space->size / SHARE_PART;

	return share > 0 && user_is_over(op, share);
}

bool space_is_scarce(struct op *op)
{
	struct store_space space;

	store_space(op->al->store, &space);
	return op_tail(op) == 0 && (is_scarce(op, &space) || is_scarce_for_user(op, &space));
}

int space_check_scarce(struct op *op)
{
	struct store_space space;

	store_space(op->al->store, &space);
	if (is_scarce(op, &space))
		return refuse_space(op, &space, space_share_is_used(&space, &op->tail));
	return is_scarce_for_user(op, &space) ? refuse_user(op, &space) : 0;
}
