#include "owed.h"

#include <errno.h>

#include "day.h"
#include "dir_path.h"
#include "scan.h"
#include "table.h"

/* Bytes of an event in the store, without its texts: the engine's overhead, key, numbers, hash, the ended lock. */
#define EVENT_BYTES 192
#define HALF_FULL 2 /* a page split leaves the old page half full, since new events go to the new one */

/* Events still to come: a ticket will be granted, claimed and released; a pending grant only claimed and released. */
#define TICKET_EVENTS 3
#define PENDING_EVENTS 2

/* Mostly the owner ends it; the reserve has space for administrators with longer names. */
static int event_bytes(struct op *op, struct slice lock, size_t owner, size_t who, size_t host, uint64_t *out)
{
	int path = dir_path_bound(op, lock);

	*out = HALF_FULL * (EVENT_BYTES + (uint64_t)(path > 0 ? path : 0) + 2 * owner + who + 2 * host);
	return path < 0 ? path : 0;
}

static uint64_t lock_events(const struct record_grant *grant)
{
	if (grant == NULL || grant->state == RECORD_DELAYED)
		return 0;
	return grant->state == RECORD_PENDING ? PENDING_EVENTS : 1;
}

static int lock_bytes(struct op *op, struct slice lock, const struct record_grant *grant, uint64_t *out)
{
	uint64_t events = lock_events(grant);
	int rc;

	*out = 0;
	if (events == 0)
		return 0;
	rc = event_bytes(op, lock, grant->holder.owner.len, grant->holder.who.len, grant->holder.host.len, out);
	*out *= events;
	return rc;
}

static void owed_set(struct op *op, uint64_t less, uint64_t more)
{
	op->tail.owed -= less < op->tail.owed ? less : op->tail.owed;
	op->tail.owed += more;
	op->tail_dirty = true;
}

/* Has the bytes charged to that holder's user instead of the caller; below 0 they are given back if charged today. */
static void owed_shift(struct op *op, const struct record_holder *holder, int64_t charged, int64_t bytes)
{
	if (bytes > 0 || day_of(charged + (op->wall - op->now)) == day_of(op->wall))
		op_charge(op, holder->uid, bytes);
}

int owed_lock(struct op *op, struct slice lock, const struct record_grant *old, const struct record_grant *new)
{
	bool other = old == NULL || new == NULL || old->token != new->token;
	uint64_t less = 0;
	uint64_t more = 0;
	int rc;

	if (!other && lock_events(old) == lock_events(new) && old->holder.owner.len == new->holder.owner.len &&
	    old->holder.who.len == new->holder.who.len && old->holder.host.len == new->holder.host.len)
		return 0;
	rc = lock_bytes(op, lock, old, &less);
	if (rc == 0)
		rc = lock_bytes(op, lock, new, &more);
	if (rc < 0)
		return rc;
	if (lock_events(old) > 0 && lock_events(new) == 0)
		op->ended = true;
	owed_set(op, less, more);
	/* The event of a claim does not come if the grant ends unclaimed. */
	if (other && old != NULL && old->state == RECORD_PENDING)
		owed_shift(op, &old->holder, old->acquired, -(int64_t)(less / PENDING_EVENTS));
	/* The caller has only passed the lock on. */
	if (other && lock_events(new) > 0 && new->ticket != 0)
		owed_shift(op, &new->holder, op->now, (int64_t)more);
	return 0;
}

static int ticket_bytes(struct op *op, struct slice lock, const struct record_ticket *ticket, uint64_t *out)
{
	int rc = event_bytes(op, lock, ticket->holder.owner.len, ticket->holder.who.len, ticket->holder.host.len, out);

	*out *= TICKET_EVENTS;
	return rc;
}

int owed_ticket(struct op *op, struct slice lock, const struct record_ticket *ticket, bool added)
{
	uint64_t bytes;
	int rc = ticket_bytes(op, lock, ticket, &bytes);

	if (rc < 0)
		return rc;
	op->ended = op->ended || !added;
	owed_set(op, added ? 0 : bytes, added ? bytes : 0);
	/* One event ends the wait; a grant that follows owes its own. */
	if (!added)
		owed_shift(op, &ticket->holder, ticket->since, -(int64_t)(bytes / TICKET_EVENTS * (TICKET_EVENTS - 1)));
	return 0;
}

typedef int owed_fn(struct op *op, struct slice key, struct slice value, uint64_t *bytes);

/* Damaged records count 0, and table_count() ignores the -EIO of damaged directories: other checks report both. */
static int lock_one(struct op *op, struct slice key, struct slice value, uint64_t *bytes)
{
	struct slice lock = { (const unsigned char *)key.data + 1, key.len - 1 };
	struct record_lock record;

	*bytes = 0;
	return record_decode(RECORD_LOCK, value, &record) < 0 ? 0 : lock_bytes(op, lock, &record.grant, bytes);
}

#define TICKET_END 10 /* bytes of a ticket's key after the lock: NUL, rank, number */

static int ticket_one(struct op *op, struct slice key, struct slice value, uint64_t *bytes)
{
	struct slice lock = { (const unsigned char *)key.data + 1, key.len - 1 - TICKET_END };
	struct record_ticket record;

	*bytes = 0;
	if (key.len <= 1 + TICKET_END || record_decode(RECORD_TICKET, value, &record) < 0)
		return 0;
	return ticket_bytes(op, lock, &record, bytes);
}

static int table_count(struct op *op, enum record_table table, owed_fn *fn, uint64_t *out)
{
	struct scan scan = scan_table(table);
	uint64_t bytes;
	int rc;

	while ((rc = scan_next(op, &scan)) == 0) {
		rc = fn(op, scan.key, scan.value, &bytes);
		if (rc < 0 && rc != -EIO)
			return rc;
		*out += bytes;
	}
	return rc < 0 ? rc : 0;
}

int owed_count(struct op *op, uint64_t *out)
{
	int rc;

	*out = 0;
	rc = table_count(op, TABLE_LOCK, lock_one, out);
	return rc == 0 ? table_count(op, TABLE_TICKET, ticket_one, out) : rc;
}
