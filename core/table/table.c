#include "table.h"

#include <errno.h>
#include <string.h>

#include "owed.h"
#include "tally.h"

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

int64_t table_grant_due(const struct record_grant *grant)
{
	if (grant->state == RECORD_PENDING && grant->claim_by < grant->expires)
		return grant->claim_by;
	return grant->expires;
}

#define DRIFT 100 /* clocks of two hosts differ by less than one part in this */

/* When another host may count `due` as over. */
static int64_t times_over_at(const struct record_times *times, int64_t due)
{
	int64_t length = due - (times->stamp + times->shift);
	int64_t at;

	if (times->stamp == 0 || due == ATLOCK_NEVER)
		return due;
	at = (times->late > 0 ? times->late : 0) + (length > 0 ? length / DRIFT : 0);
	return __builtin_add_overflow(due, at, &at) ? ATLOCK_NEVER : at;
}

int64_t table_grant_free_at(const struct record_grant *grant)
{
	return times_over_at(&grant->times, table_grant_due(grant));
}

bool table_grant_is_held(const struct op *op, const struct record_grant *grant)
{
	return grant->state != RECORD_DELAYED && table_grant_free_at(grant) >= op->now;
}

bool table_grant_is_sure(const struct op *op, const struct record_grant *grant)
{
	int64_t due = table_grant_due(grant);

	return grant->state != RECORD_DELAYED &&
	       (due == ATLOCK_NEVER || (grant->times.late != RECORD_UNSURE && due >= op->now));
}

bool table_grant_is_unsure(const struct op *op, const struct record_grant *grant)
{
	int64_t due = table_grant_due(grant);

	return grant->state != RECORD_DELAYED && due != ATLOCK_NEVER && grant->times.late == RECORD_UNSURE &&
	       due >= op->now;
}

int64_t table_ticket_over_at(const struct record_ticket *ticket)
{
	return times_over_at(&ticket->times, ticket->deadline);
}

bool table_ticket_is_over(const struct op *op, const struct record_ticket *ticket)
{
	return table_ticket_over_at(ticket) < op->now;
}

static bool held(const struct record_grant *grant)
{
	return grant != NULL && grant->state != RECORD_DELAYED;
}

/* --- Indexes --- */

bool table_grant_index(const struct record_grant *grant, enum record_table table, struct record_key *out)
{
	int64_t due = table_grant_free_at(grant);

	if (table == TABLE_DUE) {
		if (due != ATLOCK_NEVER)
			*out = record_key_due(due, DUE_LOCK, grant->token);
		return due != ATLOCK_NEVER;
	}
	if (!held(grant))
		return false;
	if (table == TABLE_HELD)
		record_key_set_held(out, table, grant->holder.owner, grant->holder.who, grant->token);
	else
		record_key_set_id(out, grant->id_time, grant->id_random, grant->token);
	return true;
}

bool table_ticket_index(const struct ticket *ticket, enum record_table table, struct record_key *out)
{
	const struct record_ticket *record = &ticket->record;

	if (table == TABLE_WAITS)
		record_key_set_held(out, table, record->holder.owner, record->holder.who, ticket->number);
	else if (record->deadline != ATLOCK_NEVER)
		*out = record_key_due(table_ticket_over_at(record), DUE_TICKET, ticket->number);
	return table == TABLE_WAITS || record->deadline != ATLOCK_NEVER;
}

struct slice table_ticket_place(unsigned char buf[1 + ATLOCK_KEY_MAX], struct slice lock, const struct ticket *ticket)
{
	buf[0] = table_rank(ticket->record.priority);
	memcpy(buf + 1, lock.data, lock.len);
	return (struct slice){ buf, 1 + lock.len };
}

/* --- Locks --- */

static int index_move(struct op *op, enum record_table table, struct slice lock, const struct record_grant *old,
		      const struct record_grant *new)
{
	struct record_key before;
	struct record_key after;
	bool had = old != NULL && table_grant_index(old, table, &before);
	bool has = new != NULL &&table_grant_index(new, table, &after);
	int rc = 0;

	if (had && has && slice_equal(record_key_slice(&before), record_key_slice(&after)))
		return 0;
	if (had) {
		rc = table_drop(op, &before);
		if (table == TABLE_HELD)
			tally_add(op, table, old->holder.owner, -1);
	}
	if (rc == 0 && has) {
		rc = table_put_raw(op, &after, lock);
		if (table == TABLE_HELD)
			tally_add(op, table, new->holder.owner, 1);
		if (table == TABLE_DUE)
			op_due(op, table_grant_free_at(new));
	}
	return rc;
}

/*
 * Moves the indexes, and counts held locks along the event chain. A change without an event, as the end of a delay,
 * also records its time in the tail.
 */
static int grant_move(struct op *op, struct slice lock, const struct record_grant *old, const struct record_grant *new)
{
	bool ends = held(old) && (!held(new) || new->token != old->token);
	int rc = index_move(op, TABLE_HELD, lock, old, new);

	if (rc == 0)
		rc = index_move(op, TABLE_ID, lock, old, new);
	if (rc == 0)
		rc = index_move(op, TABLE_DUE, lock, old, new);
	if (rc == 0)
		rc = op_tail(op);
	if (rc < 0)
		return rc;
	if (!held(old) && held(new))
		op->tail.held++;
	else if (held(old) && !held(new) && op->tail.held > 0)
		op->tail.held--;
	op->tail_dirty = true;
	op_changed(op, ends ? ATLOCK_CHANGE_END : ATLOCK_CHANGE_LOCK, lock);
	return owed_lock(op, lock, old, new);
}

/* Whether a change sets the time of the grant anew. Any other must leave it as the other hosts know it. */
static bool is_timed_anew(const struct record_grant *old, const struct record_grant *new)
{
	return old == NULL || old->token != new->token || old->state != new->state || old->renewed != new->renewed ||
	       old->expires != new->expires || old->claim_by != new->claim_by;
}

int table_lock_put(struct op *op, struct slice lock, const struct record_lock *old, const struct record_lock *new)
{
	struct record_lock record = *new;
	struct record_key key;
	int rc;

	if (op->al->shared && is_timed_anew(old != NULL ? &old->grant : NULL, &new->grant))
		record.grant.times = (struct record_times){ .stamp = op->now };
	record_key_set_of(&key, TABLE_LOCK, lock);
	rc = op_put(op, RECORD_LOCK, &key, &record);
	return rc == 0 ? grant_move(op, lock, old != NULL ? &old->grant : NULL, &record.grant) : rc;
}

int table_lock_del(struct op *op, struct slice lock, const struct record_lock *old)
{
	struct record_key key;
	int rc;

	record_key_set_of(&key, TABLE_LOCK, lock);
	rc = table_drop(op, &key);
	if (rc == 0)
		rc = grant_move(op, lock, &old->grant, NULL);
	if (rc == 0) {
		record_key_set_of(&key, TABLE_TEXT, lock);
		rc = table_del(op, &key);
	}
	return rc;
}

/* --- Tickets --- */

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

/* Enters a ticket in an index, or removes its entry. */
static int ticket_index(struct op *op, enum record_table table, const struct ticket *ticket, const struct slice *place)
{
	struct record_key key;

	if (!table_ticket_index(ticket, table, &key))
		return 0;
	return place != NULL ? table_put_raw(op, &key, *place) : table_drop(op, &key);
}

int table_ticket_put(struct op *op, struct slice lock, const struct ticket *new)
{
	unsigned char buf[1 + ATLOCK_KEY_MAX];
	struct slice place = table_ticket_place(buf, lock, new);
	struct ticket copy = *new;
	const struct ticket *ticket = &copy;
	struct record_key key;
	int rc;

	if (op->al->shared)
		copy.record.times = (struct record_times){ .stamp = op->now };
	position_note(op, lock, buf[0], ticket->number);
	record_key_set_ticket(&key, lock, buf[0], ticket->number);
	rc = op_put(op, RECORD_TICKET, &key, &ticket->record);
	if (rc == 0)
		rc = ticket_index(op, TABLE_WAITS, ticket, &place);
	if (rc == 0)
		rc = ticket_index(op, TABLE_DUE, ticket, &place);
	tally_add(op, TABLE_WAITS, ticket->record.holder.owner, 1);
	op_due(op, table_ticket_over_at(&ticket->record));
	return rc == 0 ? count_waiting(op, lock, ticket, true) : rc;
}

int table_ticket_del(struct op *op, struct slice lock, const struct ticket *ticket)
{
	uint8_t rank = table_rank(ticket->record.priority);
	struct record_key text = record_key_number(TABLE_TICKET_TEXT, ticket->number);
	struct record_key key;
	int rc;

	position_note(op, lock, rank, ticket->number);
	record_key_set_ticket(&key, lock, rank, ticket->number);
	rc = table_drop(op, &key);
	if (rc == 0)
		rc = ticket_index(op, TABLE_WAITS, ticket, NULL);
	if (rc == 0)
		rc = ticket_index(op, TABLE_DUE, ticket, NULL);
	if (rc == 0)
		rc = table_del(op, &text);
	tally_add(op, TABLE_WAITS, ticket->record.holder.owner, -1);
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

bool table_holder_is_bound(const struct record_holder *holder)
{
	static const char *const kinds[] = { "pid:", "sid:", "flock:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (holder->who.len > strlen(kinds[i]) && memcmp(holder->who.data, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

bool table_holder_is_elsewhere(const struct op *op, const struct record_holder *holder, uint32_t boot)
{
	return op->al->shared && holder->boot != boot && table_holder_is_bound(holder);
}

struct record_holder table_holder(const struct op *op, const struct atlock_caller *caller)
{
	return (struct record_holder){
		.uid = caller->uid,
		.gid = caller->gid,
		.pid = (uint32_t)caller->pid,
		.boot = op->al->boot,
		.start = caller->bound_start,
		.owner = slice_of(caller->owner),
		.who = slice_of(caller->who),
		.host = slice_of(op->al->host),
	};
}

void table_grant_fill(struct atlock_grant *out, const struct record_grant *grant)
{
	*out = (struct atlock_grant){
		.token = grant->token,
		.version = grant->version,
		.acquired_at = grant->acquired,
		.expires_at = grant->expires,
		.ticket = grant->ticket,
		.id_random = grant->id_random,
	};
}
