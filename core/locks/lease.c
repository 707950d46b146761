#include "lease.h"

#include <errno.h>

#include "atlock/manual.h"
#include "grant.h"
#include "scan.h"

#define SWEEP_BATCH 1024 /* deadlines handled in one transaction: others get their turn in between */

/* The first deadline from `from` on: 0 or 1 (none). `at` is its key. */
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
	/* A ticket's entry has its rank in front. */
	if (bytes[9] == DUE_TICKET)
		value = (struct slice){ (const unsigned char *)value.data + 1, value.len - 1 };
	*lock = value;
	return 0;
}

static struct record_key due_start(void)
{
	return record_key_of(TABLE_DUE, (struct slice){ NULL, 0 });
}

/* A part of the deadlines that have come, for one transaction. */
struct sweep {
	struct record_key from;
	int most;
	/* Set by each run. */
	int count;               /* how many ended */
	bool stuck;              /* the one behind them cannot be: its record is damaged */
	struct record_key after; /* where the others go on */
};

/* Settles the lock of one deadline. One that this does not remove belongs to nothing: it would be tried for ever. */
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

/* Goes forward only: whatever settling adds is not due yet, and what it removed is not passed over again. */
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
	do {
		rc = sweep_run(al, &sweep);
		/* A store that is full has the pages for fewer at a time. */
		while (rc == -ENOSPC && sweep.most > 1) {
			sweep.most /= 2;
			rc = sweep_run(al, &sweep);
		}
		if (rc < 0 && sweep.stuck) {
			struct sweep before = { .from = sweep.from, .most = sweep.count };

			/* What came before the damage was undone with it. Nobody else's lease waits for a repair. */
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

	/* A store that cannot be read has nothing to wait for; every call says so by itself. */
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

/* Of the newest lock both clocks are known. */
int lease_last(struct op *op, int64_t *last, int64_t *offset)
{
	struct scan scan = scan_table(TABLE_LOCK);
	struct record_lock record;
	uint64_t newest = 0;
	int rc;

	*last = *offset = 0;
	while ((rc = scan_next(op, &scan)) == 0) {
		if (record_decode(RECORD_LOCK, scan.value, &record) < 0 || record.token <= newest)
			continue;
		newest = record.token;
		*last = record.acquired;
		*offset = (int64_t)record.id_time - record.acquired;
	}
	return rc < 0 ? rc : 0;
}
