#include "lease.h"

#include <errno.h>

#include "atlock/manual.h"
#include "grant.h"
#include "scan.h"

#define SWEEP_BATCH_SHARED 16 /* of a shared store: a commit takes so many keys, and other hosts sweep, too */
#define SWEEP_BATCH 1024      /* deadlines handled in one transaction: bounds how long it blocks other writers */

/* Finds the first deadline from `from` on: 0 or 1 (none). `at` is its key. */
static int due_next(struct op *op, const struct record_key *from, int64_t *instant, struct slice *lock,
		    struct slice *at)
{
	const unsigned char table = TABLE_DUE;
	const unsigned char *bytes;
	struct slice value;
	int rc;

	rc = store_next(op->txn, record_key_slice(from), (struct slice){ &table, 1 }, at, &value);
	if (rc != 0)
		return rc;
	bytes = at->data;
	if (at->len != 18 || value.len < 2)
		return op_corrupt(op, *at, -EBADMSG);
	*instant = (int64_t)record_number(bytes + 1);
	/* A ticket's entry begins with its rank. */
	if (bytes[9] == DUE_TICKET)
		value = (struct slice){ (const unsigned char *)value.data + 1, value.len - 1 };
	*lock = value;
	return 0;
}

static struct record_key due_start(void)
{
	return record_key_of(TABLE_DUE, (struct slice){ NULL, 0 });
}

/* The part of the due deadlines that one transaction handles. */
struct sweep {
	struct record_key from;
	int most;
	/* Set by each run. */
	int count;               /* how many ended */
	bool stuck;              /* the next one cannot be ended: its record is damaged */
	struct record_key after; /* where the next transaction continues */
};

/*
 * Expires the lock of one deadline. If the entry is still there afterwards, it belongs to nothing and would be retried for ever:
 * report damage.
 */
static int due_expire(struct op *op, struct slice lock, struct slice at)
{
	struct record_lock record;
	struct slice value;
	int rc;

	rc = expire_lock(op, lock, &record);
	if (rc >= 0)
		rc = store_get(op->txn, at, &value);
	return rc == 0 ? op_corrupt(op, at, -EBADMSG) : rc;
}

/* Goes forward only: entries that expire_lock() adds are not due yet, and the scan does not walk over removed entries again. */
static int sweep_in_txn(struct op *op)
{
	struct sweep *sweep = op->arg;
	struct record_key from = sweep->from;
	struct slice lock;
	struct slice at = { NULL, 0 };
	int64_t instant = ATLOCK_NEVER;
	int rc = 0;

	sweep->count = 0;
	sweep->stuck = false;
	op->sweeps = true;
	while (sweep->count < sweep->most && (rc = due_next(op, &from, &instant, &lock, &at)) == 0 &&
	       instant < op->now) {
		rc = due_expire(op, lock, at);
		if (rc < 0)
			break;
		from = record_key_after(at);
		sweep->count++;
	}
	if (rc == -EIO && at.len > 0) {
		sweep->stuck = true;
		sweep->after = record_key_after(at);
	}
	return rc < 0 ? rc : sweep->count;
}

static int sweep_run(struct atlock *al, struct sweep *sweep)
{
	return op_call(al, NULL, METRICS_NONE, sweep_in_txn, sweep, NULL);
}

int atlock_run_due(struct atlock *al)
{
	struct sweep sweep = { .from = due_start(), .most = SWEEP_BATCH };
	int damaged = 0;
	int total = 0;
	int rc;

	if (al == NULL)
		return -EINVAL;
	if (al->shared)
		sweep.most = SWEEP_BATCH_SHARED;
	do {
		rc = sweep_run(al, &sweep);
		/* A full store has pages for fewer deadlines in one transaction. */
		while (rc == -ENOSPC && sweep.most > 1) {
			sweep.most /= 2;
			rc = sweep_run(al, &sweep);
		}
		if (rc < 0 && sweep.stuck) {
			struct sweep before = { .from = sweep.from, .most = sweep.count };

			/*
			 * The transaction that met the damage also undid the deadlines before it. Other leases do not wait for a
			 * repair.
			 */
			damaged = rc;
			sweep.from = sweep.after;
			rc = sweep_run(al, &before);
		}
		if (rc < 0)
			return rc;
		total += rc;
	} while (sweep.stuck || rc == sweep.most);
	return damaged < 0 ? damaged : total;
}

static int next_due_in_txn(struct op *op)
{
	int64_t *instant = op->arg;
	struct record_key from = due_start();
	struct slice lock;
	struct slice at;
	int rc = due_next(op, &from, instant, &lock, &at);

	if (rc == 1)
		*instant = ATLOCK_NEVER;
	return rc < 0 ? rc : 0;
}

int lease_next_due(struct atlock *al, int64_t *instant)
{
	return op_look(al, next_due_in_txn, instant, NULL);
}

int64_t atlock_next_due(struct atlock *al)
{
	int64_t instant = ATLOCK_NEVER;

	/* An unreadable store has no deadline to wait for; every call reports the error itself. */
	return al == NULL || lease_next_due(al, &instant) < 0 ? ATLOCK_NEVER : instant;
}

static int note_clock_in_txn(struct op *op)
{
	int rc = op_tail(op);

	op->tail_dirty = true;
	return rc;
}

int lease_note_clock(struct atlock *al)
{
	return op_call(al, NULL, METRICS_NONE, note_clock_in_txn, NULL, NULL);
}

/* Reads the newest lock, whose record has both clocks. */
int lease_last(struct op *op, int64_t *last, int64_t *offset)
{
	struct scan scan = scan_table(TABLE_LOCK);
	struct record_lock record;
	uint64_t newest = 0;
	int rc;

	*last = *offset = 0;
	while ((rc = scan_next(op, &scan)) == 0) {
		if (record_decode(RECORD_LOCK, scan.value, &record) < 0 || record.grant.token <= newest)
			continue;
		newest = record.grant.token;
		*last = record.grant.acquired;
		*offset = (int64_t)record.grant.id_time - record.grant.acquired;
	}
	return rc < 0 ? rc : 0;
}
