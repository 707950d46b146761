/* Checks every record against every index that should agree with it, from one consistent state. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "dir.h"
#include "name.h"
#include "owners.h"
#include "pull.h"
#include "seal.h"
#include "shared.h"
#include "table.h"
#include "why.h"

struct check {
	FILE *report;
	int64_t problems;
	uint64_t held;
	uint64_t waiting;
	/* The queue being counted: tickets come sorted by lock. */
	struct slice queue;
	uint64_t queue_count;
	int64_t queue_deadline;
};

/* One entry of a table: < 0 ends the check. */
typedef int check_fn(struct op *op, struct check *check, struct slice key, struct slice value);

static void problem(struct check *check, struct slice key, const char *what)
{
	const unsigned char *bytes = key.data;
	size_t i;

	check->problems++;
	if (check->report == NULL)
		return;
	for (i = 0; i < key.len; i++)
		(void)fprintf(check->report, bytes[i] > ' ' && bytes[i] < 0x7f ? "%c" : "\\%02x", bytes[i]);
	(void)fprintf(check->report, ": %s\n", what);
}

/* Expects `key` to be there with exactly `value`. */
static int expect(struct op *op, struct check *check, const struct record_key *key, struct slice value,
		  struct slice about, const char *what)
{
	struct slice found;
	int rc = store_get(op->txn, record_key_slice(key), &found);

	if (rc < 0)
		return rc;
	if (rc == 1 || !slice_equal(found, value))
		problem(check, about, what);
	return 0;
}

static int check_lock(struct op *op, struct check *check, struct slice key, struct slice value)
{
	struct slice lock = { (const unsigned char *)key.data + 1, key.len - 1 };
	struct record_lock record;
	struct record_key index;
	struct slice resource;
	struct record_app app;
	int64_t due;
	int rc = 0;

	if (record_decode(RECORD_LOCK, value, &record) < 0) {
		problem(check, key, "the lock's record is damaged");
		return 0;
	}
	if (record.state != RECORD_DELAYED) {
		check->held++;
		index = record_key_held(TABLE_HELD, record.owner, record.who, record.token);
		rc = expect(op, check, &index, lock, key, "the lock is not in the index of holders");
	}
	if (name_shared(lock, &resource) == 0 && record.state != RECORD_DELAYED &&
	    shared_app_load(op, resource, record.who, &app) != 0)
		problem(check, key, "the holder is no app of the resource");
	due = table_lock_due(&record);
	if (rc == 0 && due != ATLOCK_NEVER) {
		index = record_key_due(due, DUE_LOCK, record.token);
		rc = expect(op, check, &index, lock, key, "the lock is not in the index of deadlines");
	}
	return rc;
}

static int check_sealed(struct op *op, struct check *check, struct slice key, struct slice value)
{
	int rc = seal_check(op, key, value);

	if (rc < 0 && rc != -ENOMEM)
		problem(check, key, "the sealed text is damaged, or sealed with another key");
	return rc == -ENOMEM ? rc : 0;
}

static int check_text(struct op *op, struct check *check, struct slice key, struct slice value)
{
	struct record_lock record;
	int rc = table_lock_get(op, (struct slice){ (const unsigned char *)key.data + 1, key.len - 1 }, &record);

	if (rc == 1 || (rc == 0 && record.state == RECORD_DELAYED))
		problem(check, key, "text of a lock that nobody holds");
	return check_sealed(op, check, key, value);
}

static int check_held(struct op *op, struct check *check, struct slice key, struct slice value)
{
	struct record_lock record;
	struct record_key index;

	if (table_lock_get(op, value, &record) != 0 || record.state == RECORD_DELAYED) {
		problem(check, key, "the index of holders names a lock that is not held");
		return 0;
	}
	index = record_key_held(TABLE_HELD, record.owner, record.who, record.token);
	if (!slice_equal(record_key_slice(&index), key))
		problem(check, key, "the index of holders names another holder than the lock");
	return 0;
}

/* Compares the queue that has been counted with its record. */
static int queue_end(struct op *op, struct check *check)
{
	struct record_queue queue;
	struct record_lock record;
	int rc;

	if (check->queue.len == 0)
		return 0;
	rc = table_queue_get(op, check->queue, &queue);
	if (rc < 0 || queue.count != check->queue_count || queue.min_deadline > check->queue_deadline)
		problem(check, check->queue, "the queue's count or earliest deadline is wrong");
	if (table_lock_get(op, check->queue, &record) != 0)
		problem(check, check->queue, "a free lock has waiters");
	return 0;
}

static int check_ticket(struct op *op, struct check *check, struct slice key, struct slice value)
{
	struct record_ticket record;
	unsigned char place[1 + ATLOCK_KEY_MAX];
	struct record_key index;
	struct slice lock;
	uint64_t number;
	int rc;

	if (key.len < 12 || key.len > 10 + sizeof(place) || record_decode(RECORD_TICKET, value, &record) < 0) {
		problem(check, key, "the ticket's record is damaged");
		return 0;
	}
	lock = (struct slice){ (const unsigned char *)key.data + 1, key.len - 11 };
	number = record_number((const unsigned char *)key.data + key.len - 8);
	if (!slice_equal(lock, check->queue)) {
		(void)queue_end(op, check);
		check->queue = lock;
		check->queue_count = 0;
		check->queue_deadline = ATLOCK_NEVER;
	}
	check->waiting++;
	check->queue_count++;
	if (record.deadline < check->queue_deadline)
		check->queue_deadline = record.deadline;
	place[0] = table_rank(record.priority);
	memcpy(place + 1, lock.data, lock.len);
	index = record_key_ticket(lock, place[0], number);
	if (!slice_equal(record_key_slice(&index), key))
		problem(check, key, "the ticket stands under another priority than its own");
	index = record_key_held(TABLE_WAITS, record.owner, record.who, number);
	rc = expect(op, check, &index, (struct slice){ place, lock.len + 1 }, key,
		    "the ticket is not in the index of waiters");
	if (rc == 0 && record.deadline != ATLOCK_NEVER) {
		index = record_key_due(record.deadline, DUE_TICKET, number);
		rc = expect(op, check, &index, (struct slice){ place, lock.len + 1 }, key,
			    "the ticket is not in the index of deadlines");
	}
	return rc;
}

/* The ticket an index entry names must be there and lead back to it. */
static int check_place(struct op *op, struct check *check, struct slice key, struct slice value, bool due)
{
	const unsigned char *place = value.data;
	struct record_key index;
	struct ticket ticket;
	uint64_t number;

	if (key.len < 11 || value.len < 2) {
		problem(check, key, "the index entry is damaged");
		return 0;
	}
	number = record_number((const unsigned char *)key.data + key.len - 8);
	if (table_ticket_get(op, (struct slice){ place + 1, value.len - 1 }, place[0], number, &ticket) != 0) {
		problem(check, key, "the index names a ticket that is not there");
		return 0;
	}
	index = due ? record_key_due(ticket.record.deadline, DUE_TICKET, number)
		    : record_key_held(TABLE_WAITS, ticket.record.owner, ticket.record.who, number);
	if (!slice_equal(record_key_slice(&index), key))
		problem(check, key, "the index does not agree with the ticket it names");
	return 0;
}

static int check_waits(struct op *op, struct check *check, struct slice key, struct slice value)
{
	return check_place(op, check, key, value, false);
}

static int check_due(struct op *op, struct check *check, struct slice key, struct slice value)
{
	struct record_lock record;
	struct record_key index;

	if (key.len != 18) {
		problem(check, key, "the index entry is damaged");
		return 0;
	}
	if (((const unsigned char *)key.data)[9] == DUE_TICKET)
		return check_place(op, check, key, value, true);
	if (table_lock_get(op, value, &record) != 0) {
		problem(check, key, "the index of deadlines names a lock that is not there");
		return 0;
	}
	index = record_key_due(table_lock_due(&record), DUE_LOCK, record.token);
	if (!slice_equal(record_key_slice(&index), key))
		problem(check, key, "the index of deadlines does not agree with the lock");
	return 0;
}

static int check_queue(struct op *op, struct check *check, struct slice key, struct slice value)
{
	struct slice lock = { (const unsigned char *)key.data + 1, key.len - 1 };
	struct ticket ticket;

	(void)value;
	if (table_ticket_next(op, lock, 0, 0, &ticket) != 0)
		problem(check, key, "a queue that nobody is in");
	return 0;
}

static int check_shared(struct op *op, struct check *check, struct slice key, struct slice value)
{
	struct slice resource = { (const unsigned char *)key.data + 1, key.len - 1 };
	struct record_key from = record_key_app(resource, slice_of(""));
	struct record_shared record;
	struct record_app app;
	struct slice name;
	uint64_t count = 0;
	int rc;

	if (record_decode(RECORD_SHARED, value, &record) < 0) {
		problem(check, key, "the resource's record is damaged");
		return 0;
	}
	while ((rc = shared_app_next(op, resource, &from, &name, &app)) == 0)
		count++;
	if (rc == 1 && count != record.apps)
		problem(check, key, "the resource's number of apps is wrong");
	return rc == -EIO || rc == 1 ? 0 : rc;
}

static int check_app(struct op *op, struct check *check, struct slice key, struct slice value)
{
	const char *end = memchr(key.data, '\0', key.len);
	size_t len = end != NULL ? (size_t)(end - (const char *)key.data) : 0;
	struct record_shared shared;
	struct record_app record;

	if (len < 2 || len + 1 == key.len || record_decode(RECORD_APP, value, &record) < 0 ||
	    record.status >= ATLOCK_APP_STATUSES)
		problem(check, key, "the app's record is damaged");
	else if (shared_load(op, (struct slice){ (const char *)key.data + 1, len - 1 }, &shared) != 0)
		problem(check, key, "the app of a resource that is not there");
	return 0;
}

static int check_setting(struct op *op, struct check *check, struct slice key, struct slice value)
{
	struct record_setting record;

	(void)op;
	if (record_decode(RECORD_SETTING, value, &record) < 0)
		problem(check, key, "the record of an option is damaged");
	return 0;
}

static const struct {
	enum record_table table;
	check_fn *fn;
} tables[] = {
	{ TABLE_LOCK, check_lock },       { TABLE_TEXT, check_text },          { TABLE_HELD, check_held },
	{ TABLE_TICKET, check_ticket },   { TABLE_WAITS, check_waits },        { TABLE_DUE, check_due },
	{ TABLE_QUEUE, check_queue },     { TABLE_SHARED, check_shared },      { TABLE_APP, check_app },
	{ TABLE_SETTING, check_setting }, { TABLE_TICKET_TEXT, check_sealed },
};

static int check_table(struct op *op, struct check *check, enum record_table table, check_fn *fn)
{
	const unsigned char first = (unsigned char)table;
	struct record_key from = record_key_of(table, (struct slice){ NULL, 0 });
	struct slice key;
	struct slice value;
	int rc;

	while ((rc = store_next(op->txn, record_key_slice(&from), (struct slice){ &first, 1 }, &key, &value)) == 0) {
		rc = fn(op, check, key, value);
		if (rc < 0)
			return rc;
		from = record_key_after(key);
	}
	return rc < 0 ? rc : 0;
}

static int check_in_txn(struct op *op)
{
	struct check *check = op->arg;
	int64_t dirs;
	int64_t owners;
	int64_t pulls;
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == 0; i++)
		rc = check_table(op, check, tables[i].table, tables[i].fn);
	if (rc == 0)
		rc = queue_end(op, check);
	if (rc == 0)
		rc = op_tail(op);
	if (rc < 0)
		return rc;
	if (op->tail.held != check->held || op->tail.waiting != check->waiting)
		problem(check, slice_of("counts"), "the numbers of held locks or waiters are wrong");
	dirs = dir_check_all(op, check->report);
	if (dirs < 0)
		return (int)dirs;
	owners = owners_check_all(op, check->report);
	if (owners < 0)
		return (int)owners;
	pulls = pull_check_all(op, check->report);
	if (pulls < 0)
		return (int)pulls;
	check->problems += dirs + owners + pulls;
	return 0;
}

int64_t atlock_check(struct atlock *al, FILE *report)
{
	struct check check = { .report = report };
	struct op op;
	int rc;

	if (al == NULL)
		return -EINVAL;
	op_init(&op, al, NULL, NULL);
	op.arg = &check;
	rc = op_view(&op, check_in_txn);
	return rc < 0 ? rc : check.problems;
}
