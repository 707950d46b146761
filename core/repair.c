/*
 * Makes every index and count of locks and tickets anew from the records themselves, in one transaction. Records that cannot
 * be read, tickets for locks that nobody holds and texts without a lock are dropped.
 */
#include <errno.h>

#include "event.h"
#include "owners.h"
#include "table.h"
#include "why.h"

struct repair {
	uint64_t dropped;
};

typedef int repair_fn(struct op *op, struct repair *repair, struct slice key, struct slice value);

static int entry_drop(struct op *op, struct repair *repair, struct slice key)
{
	int rc = store_del(op->txn, key);

	repair->dropped++;
	return rc < 0 ? rc : 0;
}

/* An index entry goes without being counted: it will be made again. */
static int repair_index(struct op *op, struct repair *repair, struct slice key, struct slice value)
{
	int rc = store_del(op->txn, key);

	(void)repair, (void)value;
	return rc < 0 ? rc : 0;
}

static int repair_lock(struct op *op, struct repair *repair, struct slice key, struct slice value)
{
	struct record_lock record;

	if (record_decode(RECORD_LOCK, value, &record) < 0)
		return entry_drop(op, repair, key);
	return table_lock_put(op, (struct slice){ (const unsigned char *)key.data + 1, key.len - 1 }, NULL, &record);
}

static int repair_text(struct op *op, struct repair *repair, struct slice key, struct slice value)
{
	struct record_lock record;
	int rc = table_lock_get(op, (struct slice){ (const unsigned char *)key.data + 1, key.len - 1 }, &record);

	(void)value;
	if (rc < 0 && rc != -EIO)
		return rc;
	return rc == 0 && record.state != RECORD_DELAYED ? 0 : entry_drop(op, repair, key);
}

static int repair_ticket(struct op *op, struct repair *repair, struct slice key, struct slice value)
{
	struct ticket ticket;
	struct record_lock holder;
	struct record_key right;
	struct slice lock;

	if (key.len < 12 || record_decode(RECORD_TICKET, value, &ticket.record) < 0)
		return entry_drop(op, repair, key);
	lock = (struct slice){ (const unsigned char *)key.data + 1, key.len - 11 };
	ticket.number = record_number((const unsigned char *)key.data + key.len - 8);
	right = record_key_ticket(lock, table_rank(ticket.record.priority), ticket.number);
	if (!slice_equal(record_key_slice(&right), key) || table_lock_get(op, lock, &holder) != 0)
		return entry_drop(op, repair, key);
	return table_ticket_put(op, lock, &ticket);
}

/* In this order: indexes are empty when the records that make them come. */
static const struct {
	enum record_table table;
	repair_fn *fn;
} tables[] = {
	{ TABLE_HELD, repair_index },    { TABLE_WAITS, repair_index }, { TABLE_DUE, repair_index },
	{ TABLE_QUEUE, repair_index },   { TABLE_LOCK, repair_lock },   { TABLE_TEXT, repair_text },
	{ TABLE_TICKET, repair_ticket },
};

static int repair_table(struct op *op, struct repair *repair, enum record_table table, repair_fn *fn)
{
	const unsigned char first = (unsigned char)table;
	struct record_key from = record_key_of(table, (struct slice){ NULL, 0 });
	struct slice key;
	struct slice value;
	int rc;

	while ((rc = store_next(op->txn, record_key_slice(&from), (struct slice){ &first, 1 }, &key, &value)) == 0) {
		from = record_key_after(key);
		rc = fn(op, repair, key, value);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int repair_in_txn(struct op *op)
{
	struct repair *repair = op->arg;
	int rc = op_tail(op);

	*repair = (struct repair){ .dropped = 0 };
	op->tail.held = op->tail.waiting = 0;
	op->tail_dirty = true;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == 0; i++)
		rc = repair_table(op, repair, tables[i].table, tables[i].fn);
	return rc < 0 ? rc : event_other(op, ATLOCK_EVENT_REPAIRED, "");
}

int64_t atlock_repair(struct atlock *al, struct atlock_why *why)
{
	struct repair repair = { .dropped = 0 };
	struct op op;
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	op_init(&op, al, NULL, why);
	op.arg = &repair;
	rc = op_run(&op, repair_in_txn);
	if (rc == 0)
		rc = atlock_run_owners(al);
	return rc < 0 ? rc : (int64_t)repair.dropped;
}
