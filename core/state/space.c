#include "space.h"

#include <errno.h>

#include "why.h"

#define SHARE_PART 2 /* of the store that events may use, so that they leave room for locks */
#define SHARE_MORE 4 /* part of that share which they may use beyond it, for what goes on without taking anything */

/* Their pages are half full, since each begins when the last one is split. */
uint64_t space_events_used(const struct record_tail *tail)
{
	return 2 * tail->events;
}

bool space_share_is_used(const struct store_space *room, const struct record_tail *tail)
{
	return room->size > 0 && space_events_used(tail) > room->size / SHARE_PART;
}

static int refuse_space(struct op *op, const struct store_space *room, bool share)
{
	return why_set(
		op->why, -EDQUOT, ATLOCK_QUOTA,
		"the store has no room for more%s (%ju of %ju MiB used, by events about %ju): an administrator can "
		"archive events: atlock audit archive --before now FILE; or release locks, or make room on its disk",
		share ? " events, which have used their share of it" : "", (uintmax_t)(room->used >> 20),
		(uintmax_t)(room->size >> 20), (uintmax_t)(space_events_used(&op->tail) >> 20));
}

int space_check(struct op *op)
{
	struct store_space room;
	bool share;
	int rc = op_tail(op);

	if (rc < 0)
		return rc;
	store_space(op->al->store, &room);
	share = space_share_is_used(&room, &op->tail);
	return room.low || share ? refuse_space(op, &room, share) : 0;
}

static bool is_scarce(const struct op *op, const struct store_space *room)
{
	uint64_t share = room->size / SHARE_PART;

	return room->scarce || (share > 0 && space_events_used(&op->tail) > share + share / SHARE_MORE);
}

bool space_is_scarce(struct op *op)
{
	struct store_space room;

	store_space(op->al->store, &room);
	return op_tail(op) == 0 && is_scarce(op, &room);
}

int space_check_scarce(struct op *op)
{
	struct store_space room;

	store_space(op->al->store, &room);
	return is_scarce(op, &room) ? refuse_space(op, &room, space_share_is_used(&room, &op->tail)) : 0;
}
