#include "table.h"

#include <errno.h>
#include <string.h>

#include "owed.h"
#include "tally.h"

bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static int table_put_raw(struct op *op, const struct record_key *key, struct slice value)
{
	return store_put(op->txn, record_key_slice(key), value);
}

static int table_del(struct op *op, const struct record_key *key)
{
	int rc = store_del(op->txn, record_key_slice(key));

	return rc > 0 ? 0 : rc;
}

/* For a key that the caller has read, or an index entry that follows from it: it exists. */
static int table_drop(struct op *op, const struct record_key *key)
{
	return store_drop(op->txn, record_key_slice(key));
}

int table_lock_get(struct op *op, struct slice lock, struct record_lock *out)
{
	struct record_key key;

	record_key_set_of(&key, TABLE_LOCK, lock);
	return op_get(op, RECORD_LOCK, &key, out);
}

int64_t table_lock_due(const struct record_lock *record)
{
	if (record->state == RECORD_PENDING && record->claim_by < record->expires)
		return record->claim_by;
	return record->expires;
}

bool table_lock_is_held(const struct op *op, const struct record_lock *record)
{
	return record->state != RECORD_DELAYED && table_lock_due(record) >= op->now;
}

static bool held(const struct record_lock *record)
{
	return record != NULL && record->state != RECORD_DELAYED;
}

/*
 * Counts held locks along the event chain. A change without an event, as the end of a delay, also records its time in
 * the tail.
 */
static int count_held(struct op *op, struct slice lock, const struct record_lock *old, const struct record_lock *new)
{
	int rc = op_tail(op);

	if (rc < 0)
		return rc;
	if (!held(old) && held(new))
		op->tail.held++;
	else if (held(old) && !held(new) && op->tail.held > 0)
		op->tail.held--;
	op->tail_dirty = true;
	return owed_lock(op, lock, old, new);
}

static int lock_index_holder(struct op *op, struct slice lock, const struct record_lock *old,
			     const struct record_lock *new)
{
	int rc = 0;

	if (held(old) && held(new) && old->token == new->token && slice_equal(old->owner, new->owner) &&
	    slice_equal(old->who, new->who))
		return 0;
	if (held(old)) {
		struct record_key key;

		record_key_set_held(&key, TABLE_HELD, old->owner, old->who, old->token);
		rc = table_drop(op, &key);
		tally_add(op, TABLE_HELD, old->owner, -1);
	}
	if (rc == 0 && held(new)) {
		struct record_key key;

		record_key_set_held(&key, TABLE_HELD, new->owner, new->who, new->token);
		rc = table_put_raw(op, &key, lock);
		tally_add(op, TABLE_HELD, new->owner, 1);
	}
	return rc;
}

static int lock_index_id(struct op *op, struct slice lock, const struct record_lock *old, const struct record_lock *new)
{
	struct record_key key;
	int rc = 0;

	if (held(old) && held(new) && old->token == new->token && old->id_time == new->id_time &&
	    old->id_random == new->id_random)
		return 0;
	if (held(old)) {
		record_key_set_id(&key, old->id_time, old->id_random, old->token);
		rc = table_drop(op, &key);
	}
	if (rc == 0 && held(new)) {
		record_key_set_id(&key, new->id_time, new->id_random, new->token);
		rc = table_put_raw(op, &key, lock);
	}
	return rc;
}

static int lock_index_due(struct op *op, struct slice lock, const struct record_lock *old,
			  const struct record_lock *new)
{
	int64_t before = old != NULL ? table_lock_due(old) : ATLOCK_NEVER;
	int64_t after = new != NULL ? table_lock_due(new) : ATLOCK_NEVER;
	int rc = 0;

	if (before == after && old != NULL && new != NULL && old->token == new->token)
		return 0;
	if (before != ATLOCK_NEVER) {
		struct record_key key = record_key_due(before, DUE_LOCK, old->token);

		rc = table_drop(op, &key);
	}
	if (rc == 0 && after != ATLOCK_NEVER) {
		struct record_key key = record_key_due(after, DUE_LOCK, new->token);

		rc = table_put_raw(op, &key, lock);
		op_due(op, after);
	}
	return rc;
}

int table_lock_put(struct op *op, struct slice lock, const struct record_lock *old, const struct record_lock *new)
{
	struct record_key key;
	int rc;

	record_key_set_of(&key, TABLE_LOCK, lock);
	rc = op_put(op, RECORD_LOCK, &key, new);
	if (rc == 0)
		rc = lock_index_holder(op, lock, old, new);
	if (rc == 0)
		rc = lock_index_id(op, lock, old, new);
	if (rc == 0)
		rc = lock_index_due(op, lock, old, new);
	if (rc == 0)
		rc = count_held(op, lock, old, new);
	op_changed(op, held(old) && (!held(new) || new->token != old->token) ? ATLOCK_CHANGE_END : ATLOCK_CHANGE_LOCK,
		   lock);
	return rc;
}

int table_lock_del(struct op *op, struct slice lock, const struct record_lock *old)
{
	struct record_key key;
	int rc;

	record_key_set_of(&key, TABLE_LOCK, lock);
	rc = table_drop(op, &key);
	if (rc == 0)
		rc = lock_index_holder(op, lock, old, NULL);
	if (rc == 0)
		rc = lock_index_id(op, lock, old, NULL);
	if (rc == 0)
		rc = lock_index_due(op, lock, old, NULL);
	if (rc == 0)
		rc = count_held(op, lock, old, NULL);
	if (rc == 0) {
		record_key_set_of(&key, TABLE_TEXT, lock);
		rc = table_del(op, &key);
	}
	op_changed(op, held(old) ? ATLOCK_CHANGE_END : ATLOCK_CHANGE_LOCK, lock);
	return rc;
}

uint8_t table_rank(uint8_t priority)
{
	return (uint8_t)(ATLOCK_PRIORITIES - 1 - (priority < ATLOCK_PRIORITIES ? priority : ATLOCK_PRIORITIES - 1));
}

int table_queue_get(struct op *op, struct slice lock, struct record_queue *out)
{
	struct record_key key;
	int rc;

	record_key_set_of(&key, TABLE_QUEUE, lock);
	rc = op_get(op, RECORD_QUEUE, &key, out);
	if (rc != 1)
		return rc;
	*out = (struct record_queue){ .count = 0, .min_deadline = ATLOCK_NEVER };
	return 0;
}

int table_queue_put(struct op *op, struct slice lock, const struct record_queue *queue)
{
	struct record_key key = record_key_of(TABLE_QUEUE, lock);

	op_changed(op, ATLOCK_CHANGE_QUEUE, lock);
	return queue->count == 0 ? table_drop(op, &key) : op_put(op, RECORD_QUEUE, &key, queue);
}

/* Moves the bound of the queue forward for a new ticket that may be served first. */
static void queue_enter(struct record_queue *queue, const struct ticket *ticket)
{
	uint8_t rank = table_rank(ticket->record.priority);

	if (queue->count == 0 || rank < queue->passed_rank ||
	    (rank == queue->passed_rank && ticket->number <= queue->passed)) {
		queue->passed_rank = rank;
		queue->passed = ticket->number - 1;
	}
}

static int count_waiting(struct op *op, struct slice lock, const struct ticket *ticket, bool added)
{
	struct record_queue queue;
	int rc;

	rc = table_queue_get(op, lock, &queue);
	if (rc == 0)
		rc = op_tail(op);
	if (rc < 0)
		return rc;
	if (added) {
		queue_enter(&queue, ticket);
		queue.count++;
		if (ticket->record.deadline < queue.min_deadline)
			queue.min_deadline = ticket->record.deadline;
		op->tail.waiting++;
	} else {
		queue.count -= queue.count > 0;
		op->tail.waiting -= op->tail.waiting > 0;
	}
	rc = owed_ticket(op, lock, &ticket->record, added);
	return rc == 0 ? table_queue_put(op, lock, &queue) : rc;
}

/* Rank and lock: the value of the indexes of tickets. */
static struct slice ticket_place(unsigned char buf[1 + ATLOCK_KEY_MAX], struct slice lock, const struct ticket *ticket)
{
	buf[0] = table_rank(ticket->record.priority);
	memcpy(buf + 1, lock.data, lock.len);
	return (struct slice){ buf, 1 + lock.len };
}

int table_ticket_put(struct op *op, struct slice lock, const struct ticket *ticket)
{
	const struct record_ticket *record = &ticket->record;
	unsigned char buf[1 + ATLOCK_KEY_MAX];
	struct slice place = ticket_place(buf, lock, ticket);
	struct record_key key;
	int rc;

	position_note(op, lock, buf[0], ticket->number);
	record_key_set_ticket(&key, lock, buf[0], ticket->number);
	rc = op_put(op, RECORD_TICKET, &key, record);
	if (rc == 0) {
		record_key_set_held(&key, TABLE_WAITS, record->owner, record->who, ticket->number);
		rc = table_put_raw(op, &key, place);
		tally_add(op, TABLE_WAITS, record->owner, 1);
	}
	if (rc == 0 && record->deadline != ATLOCK_NEVER) {
		struct record_key due = record_key_due(record->deadline, DUE_TICKET, ticket->number);

		rc = table_put_raw(op, &due, place);
		op_due(op, record->deadline);
	}
	return rc == 0 ? count_waiting(op, lock, ticket, true) : rc;
}

int table_ticket_del(struct op *op, struct slice lock, const struct ticket *ticket)
{
	const struct record_ticket *record = &ticket->record;
	struct record_key key;
	int rc;

	position_note(op, lock, table_rank(record->priority), ticket->number);
	record_key_set_ticket(&key, lock, table_rank(record->priority), ticket->number);
	rc = table_drop(op, &key);
	if (rc == 0) {
		record_key_set_held(&key, TABLE_WAITS, record->owner, record->who, ticket->number);
		rc = table_drop(op, &key);
		tally_add(op, TABLE_WAITS, record->owner, -1);
	}
	if (rc == 0 && record->deadline != ATLOCK_NEVER) {
		struct record_key due = record_key_due(record->deadline, DUE_TICKET, ticket->number);

		rc = table_drop(op, &due);
	}
	if (rc == 0) {
		struct record_key text = record_key_number(TABLE_TICKET_TEXT, ticket->number);

		rc = table_del(op, &text);
	}
	return rc == 0 ? count_waiting(op, lock, ticket, false) : rc;
}

int table_ticket_next(struct op *op, struct slice lock, uint8_t rank, uint64_t number, struct ticket *out)
{
	struct record_key from;
	struct slice prefix;
	struct slice key;
	struct slice value;
	int rc;

	record_key_set_ticket(&from, lock, rank, number + 1);
	prefix = (struct slice){ from.data, from.len - 9 };
	rc = store_next(op->txn, record_key_slice(&from), prefix, &key, &value);
	if (rc != 0)
		return rc;
	if (key.len != from.len)
		return op_corrupt(op, key, -EBADMSG);
	out->number = record_number((const unsigned char *)key.data + prefix.len + 1);
	rc = record_decode(RECORD_TICKET, value, &out->record);
	return rc < 0 ? op_corrupt(op, key, rc) : 0;
}

int table_ticket_first(struct op *op, struct slice lock, struct ticket *out)
{
	struct record_key key;
	struct record_queue queue;
	int rc;

	record_key_set_of(&key, TABLE_QUEUE, lock);
	rc = op_get(op, RECORD_QUEUE, &key, &queue);
	if (rc == 0)
		rc = table_ticket_next(op, lock, queue.passed_rank, queue.passed, out);
	if (rc != 0)
		return rc;
	queue.passed_rank = table_rank(out->record.priority);
	queue.passed = out->number - 1;
	return op_put(op, RECORD_QUEUE, &key, &queue);
}

int table_ticket_get(struct op *op, struct slice lock, uint8_t rank, uint64_t number, struct ticket *out)
{
	struct record_key key;

	record_key_set_ticket(&key, lock, rank, number);
	out->number = number;
	return op_get(op, RECORD_TICKET, &key, &out->record);
}

int table_ticket_find(struct op *op, struct slice lock, uint64_t number, struct ticket *out)
{
	uint8_t rank;
	int rc = 1;

	for (rank = 0; rank < ATLOCK_PRIORITIES && rc == 1; rank++)
		rc = table_ticket_get(op, lock, rank, number, out);
	return rc;
}

/* The first entry of a holder's index with a number > `after`. */
static int index_next(struct op *op, enum record_table table, struct slice owner, struct slice who, uint64_t after,
		      uint64_t *number, struct slice *value)
{
	struct record_key from;
	struct slice prefix;
	struct slice key;
	int rc;

	if (after == UINT64_MAX)
		return 1;
	record_key_set_held(&from, table, owner, who, after + 1);
	prefix = (struct slice){ from.data, from.len - 8 };
	rc = store_next(op->txn, record_key_slice(&from), prefix, &key, value);
	if (rc != 0)
		return rc;
	if (key.len != from.len)
		return op_corrupt(op, key, -EBADMSG);
	*number = record_number((const unsigned char *)key.data + prefix.len);
	return 0;
}

int table_wait_next(struct op *op, struct slice owner, struct slice who, uint64_t after, uint64_t *number,
		    uint8_t *rank, struct slice *lock)
{
	struct slice value;
	int rc = index_next(op, TABLE_WAITS, owner, who, after, number, &value);

	if (rc != 0)
		return rc;
	if (value.len < 2)
		return op_corrupt(op, value, -EBADMSG);
	*rank = *(const unsigned char *)value.data;
	*lock = (struct slice){ (const unsigned char *)value.data + 1, value.len - 1 };
	return 0;
}

int table_held_next(struct op *op, struct slice owner, struct slice who, uint64_t after, uint64_t *token,
		    struct slice *lock)
{
	return index_next(op, TABLE_HELD, owner, who, after, token, lock);
}

void table_grant_fill(struct atlock_grant *out, const struct record_lock *record)
{
	*out = (struct atlock_grant){
		.token = record->token,
		.version = record->version,
		.acquired_at = record->acquired,
		.expires_at = record->expires,
		.ticket = record->ticket,
		.id_random = record->id_random,
	};
}
