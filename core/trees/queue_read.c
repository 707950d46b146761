/* Queues for readers: one ticket, a lock's tickets in service order, the locks that have tickets. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "expect.h"
#include "holder_index.h"
#include "lock_name.h"
#include "place.h"
#include "position.h"
#include "scan.h"
#include "view.h"

struct queue_read {
	struct slice lock;
	uint64_t number;
	const char *owner;
	const char *who;
	bool ranked; /* only tickets of this rank */
	uint8_t rank;
	struct atlock_ticket *out;
	struct atlock_place *place;
	atlock_ticket_fn *fn;
	void *arg;
};

/* Part of a place. It keeps the position, so that counting continues while waiters leave and listed names stay in order. */
#define PART_TICKET 't'

struct ticket_place {
	uint64_t number;   /* big-endian, like `position` */
	uint64_t position; /* with which it was shown */
	uint8_t rank;
};

static void ticket_place_set(struct atlock_place *place, const struct ticket *ticket, uint64_t position)
{
	struct ticket_place at = { htobe64(ticket->number), htobe64(position), table_rank(ticket->record.priority) };

	place_set(place, PART_TICKET, (struct slice){ &at, sizeof(at) });
}

static void ticket_place_get(const struct atlock_place *place, struct ticket *ticket, uint8_t *rank, uint64_t *position)
{
	struct slice text = place_text(place, PART_TICKET);
	struct ticket_place at;

	if (text.len != sizeof(at))
		return;
	memcpy(&at, text.data, sizeof(at));
	ticket->number = be64toh(at.number);
	*position = be64toh(at.position);
	*rank = at.rank;
}

static int ticket_show(struct op *op, struct slice lock, const struct ticket *ticket, uint64_t position,
		       struct atlock_ticket *out)
{
	int64_t expected;
	int rc = expect_wait(op, lock, position, &expected);

	return rc < 0 ? rc : view_ticket(ticket, position, expected, out);
}

/* In service order, without tickets past their deadline. */
static int queue_list_in_txn(struct op *op)
{
	struct queue_read *read = op->arg;
	struct ticket ticket = { .number = 0 };
	uint64_t position = 0;
	uint8_t rank = 0;
	int rc;

	ticket_place_get(read->place, &ticket, &rank, &position);
	while ((rc = table_ticket_next(op, read->lock, rank, ticket.number, &ticket)) == 0) {
		struct atlock_ticket view;

		rank = table_rank(ticket.record.priority);
		if (table_ticket_is_over(op, &ticket.record))
			continue;
		rc = ticket_show(op, read->lock, &ticket, ++position, &view);
		if (rc < 0)
			return rc;
		ticket_place_set(read->place, &ticket, position);
		rc = read->fn(read->arg, &view);
		atlock_ticket_clear(&view);
		if (rc != 0)
			return 0;
	}
	return rc < 0 ? rc : 0;
}

/* --- One ticket --- */

/* Finds the holder's ticket that is served before `best` (if its number is not 0). Reads it from the holder's index. */
static int holder_best(struct op *op, const struct queue_read *read, struct slice owner, struct ticket *best)
{
	struct slice who = slice_of(read->who);
	struct ticket ticket;
	uint64_t number = 0;
	struct slice lock;
	uint8_t rank;
	int rc;

	while ((rc = table_wait_next(op, owner, who, number, &number, &rank, &lock)) == 0) {
		if (!slice_equal(lock, read->lock) || (read->ranked && rank != read->rank))
			continue;
		if (best->number != 0 && (rank > table_rank(best->record.priority) ||
					  (rank == table_rank(best->record.priority) && number > best->number)))
			continue;
		rc = table_ticket_get(op, lock, rank, number, &ticket);
		if (rc < 0)
			return rc;
		if (rc == 0 && !table_ticket_is_over(op, &ticket.record))
			*best = ticket;
	}
	return rc < 0 ? rc : 0;
}

/* The same over all owners. */
static int owners_best(struct op *op, const struct queue_read *read, struct ticket *best)
{
	struct record_key from = record_key_of(TABLE_WAITS, (struct slice){ NULL, 0 });
	struct slice owner = { NULL, 0 };
	int rc;

	while ((rc = holder_index_owner_next(op, TABLE_WAITS, &from, &owner)) == 0) {
		rc = holder_best(op, read, owner, best);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int ticket_get_in_txn(struct op *op)
{
	const struct queue_read *read = op->arg;
	struct ticket ticket = { .number = 0 };
	uint64_t position = 0;
	int rc;

	if (read->number != 0)
		rc = table_ticket_find(op, read->lock, read->number, &ticket);
	else if (read->owner != NULL)
		rc = holder_best(op, read, slice_of(read->owner), &ticket);
	else
		rc = owners_best(op, read, &ticket);
	if (rc != 0 || ticket.number == 0)
		return rc != 0 ? rc : 1;
	rc = position_find(op, read->lock, &ticket, &position);
	return rc != 0 ? rc : ticket_show(op, read->lock, &ticket, position, read->out);
}

static int read_run(struct atlock *al, const struct atlock_name *name, struct queue_read *read, op_fn *fn)
{
	if (al == NULL || name_check(name) < 0)
		return -EINVAL;
	read->lock = name_slice(name);
	return op_look(al, fn, read, NULL);
}

int atlock_ticket_get(struct atlock *al, const struct atlock_name *name, uint64_t ticket, const char *owner,
		      const char *who, struct atlock_ticket *out)
{
	struct queue_read read = { .number = ticket, .owner = owner, .who = who, .out = out };

	if (out == NULL || (ticket == 0 && (owner == NULL || who == NULL)))
		return -EINVAL;
	return read_run(al, name, &read, ticket_get_in_txn);
}

int atlock_ticket_find(struct atlock *al, const struct atlock_name *name, enum atlock_priority priority,
		       const char *who, struct atlock_ticket *out)
{
	struct queue_read read = { .who = who, .ranked = true, .out = out };

	if (out == NULL || who == NULL || (unsigned int)priority >= ATLOCK_PRIORITIES)
		return -EINVAL;
	read.rank = table_rank((uint8_t)priority);
	return read_run(al, name, &read, ticket_get_in_txn);
}

int atlock_queue_list(struct atlock *al, const struct atlock_name *name, struct atlock_place *place,
		      atlock_ticket_fn *fn, void *arg)
{
	struct queue_read read = { .place = place, .fn = fn, .arg = arg };

	return fn == NULL ? -EINVAL : read_run(al, name, &read, queue_list_in_txn);
}

/* --- All queues --- */

#define PART_QUEUE 'q' /* of a place: the rest is the lock's key */

struct queues {
	struct atlock_place *place;
	atlock_name_fn *fn;
	void *arg;
};

static int queues_in_txn(struct op *op)
{
	struct queues *queues = op->arg;
	struct record_key last = record_key_of(TABLE_QUEUE, place_text(queues->place, PART_QUEUE));
	struct scan scan = scan_table(TABLE_QUEUE);
	struct record_queue queue;
	struct atlock_name name;
	int rc;

	if (place_part(queues->place) == PART_QUEUE)
		scan_after(&scan, &last);
	while ((rc = scan_record(op, &scan, RECORD_QUEUE, &queue)) == 0) {
		struct slice lock = scan_name(&scan);

		name_from_key(&name, lock);
		place_set(queues->place, PART_QUEUE, lock);
		if (queues->fn(queues->arg, &name, queue.count) != 0)
			return 0;
	}
	return rc < 0 ? rc : 0;
}

int atlock_queues(struct atlock *al, struct atlock_place *place, atlock_name_fn *fn, void *arg)
{
	struct queues queues = { place, fn, arg };

	if (al == NULL || fn == NULL)
		return -EINVAL;
	return op_list(al, queues_in_txn, &queues);
}
