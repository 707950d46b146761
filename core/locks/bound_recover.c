/* What is left of holders and calls that ended while no manager was there to see it. */
#include <errno.h>
#include <string.h>

#include "bound.h"
#include "event_log.h"
#include "grant.h"
#include "holder_index.h"
#include "hosts.h"
#include "lock_hold.h"
#include "scan.h"

/*
 * Releases a lock of an open file, which died with its manager, or of a process of an earlier boot. A process of this boot is
 * watched from now on, which also notices that it has gone meanwhile. A damaged record is skipped: it must not keep the store
 * from opening, and the next request for that lock reports it.
 */
static int recover_lock(struct op *op, struct slice lock)
{
	struct record_lock record;
	int rc = table_lock_get(op, lock, &record);

	if (rc != 0 || record.grant.state == RECORD_DELAYED)
		return rc < 0 && rc != -EIO ? rc : 0;
	if (record.grant.holder.start != 0 && record.grant.holder.boot == op->al->boot) {
		op_bound(op, record.grant.holder.who, record.grant.holder.start);
		return 0;
	}
	rc = lock_release(op, lock, &record, NULL, ATLOCK_EVENT_RELEASED);
	return rc < 0 ? rc : 0;
}

static int recover_ticket(struct op *op, struct slice lock, const struct ticket *ticket)
{
	const struct record_ticket *record = &ticket->record;
	bool gone = record->wait != 0 || slice_begins(record->holder.who, slice_of("flock:")) ||
		    (slice_begins(record->holder.who, slice_of("pid:")) && record->holder.boot != op->al->boot);
	int rc;

	if (!gone) {
		op_bound(op, record->holder.who, record->holder.start);
		return 0;
	}
	rc = table_ticket_del(op, lock, ticket);
	return rc == 0 ? event_ticket(op, ATLOCK_EVENT_CANCELLED, ATLOCK_CANCELLED, lock, ticket) : rc;
}

static int recover_tickets(struct op *op)
{
	struct scan scan = scan_table(TABLE_WAITS);
	struct ticket ticket;
	struct slice lock;
	int rc;

	while ((rc = scan_next(op, &scan)) == 0) {
		const unsigned char *place = scan.value.data;

		if (scan.key.len < 11 || scan.value.len < 2)
			continue;
		lock = (struct slice){ place + 1, scan.value.len - 1 };
		rc = table_ticket_get(op, lock, place[0],
				      record_number((const unsigned char *)scan.key.data + scan.key.len - 8), &ticket);
		if (rc == 1 || rc == -EIO)
			continue;
		if (rc == 0)
			rc = recover_ticket(op, lock, &ticket);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

/*
 * Recovers all locks of one kind of holder. Goes owner by owner to skip other kinds: there may be a million of them in between.
 */
static int recover_kind(struct op *op, const char *kind)
{
	struct record_key owners = record_key_of(TABLE_HELD, (struct slice){ NULL, 0 });
	struct slice owner = { NULL, 0 };
	int rc;

	while ((rc = holder_index_owner_next(op, TABLE_HELD, &owners, &owner)) == 0) {
		struct record_key prefix = record_key_holder(TABLE_HELD, owner, slice_of(kind));
		struct scan scan;

		prefix.len--; /* without the NUL that ends a who */
		scan = scan_prefix(&prefix);
		while ((rc = scan_next(op, &scan)) == 0) {
			rc = recover_lock(op, scan.value);
			if (rc < 0)
				return rc;
		}
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

/* Tickets before locks, so that no lock is handed to a call that is gone. */
static int recover_in_txn(struct op *op)
{
	int rc = recover_tickets(op);

	if (rc == 0)
		rc = recover_kind(op, "flock:");
	return rc == 0 ? recover_kind(op, "pid:") : rc;
}

int bound_recover(struct atlock *al)
{
	int rc;

	if (al->shared) {
		rc = hosts_sweep(al);
		return rc < 0 ? rc : 0;
	}
	return op_call(al, NULL, METRICS_NONE, recover_in_txn, NULL, NULL);
}
