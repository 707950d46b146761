/* Tickets, their texts, queues, and the indexes of waiters and of deadlines. */
#include <errno.h>
#include <string.h>

#include "fsck.h"
#include "scan.h"
#include "table.h"

/* A queue while it is counted: tickets are sorted by lock. */
struct queue {
	struct fsck *fsck;
	struct slice lock;
	struct record_queue record; /* as it should be */
};

/* A recorded start of the queue must not lie behind its first ticket, which would then not be found. */
static bool queue_agrees(const struct record_queue *found, const struct record_queue *counted)
{
	if (found->passed_rank > counted->passed_rank ||
	    (found->passed_rank == counted->passed_rank && found->passed > counted->passed))
		return false;
	return found->count == counted->count && found->min_deadline <= counted->min_deadline;
}

/* Compares a counted queue with its record. */
static int queue_end(struct queue *queue)
{
	const struct record_queue *counted = &queue->record;
	struct fsck *fsck = queue->fsck;
	struct record_key key = record_key_of(TABLE_QUEUE, queue->lock);
	struct record_queue found = { .count = 0 };
	int rc;

	if (counted->count == 0)
		return 0;
	rc = fsck_get(fsck, RECORD_QUEUE, &key, &found);
	if (rc < 0 || (rc == 0 && queue_agrees(&found, counted)))
		return rc;
	fsck_problem(fsck, record_key_slice(&key), "the queue's count, earliest deadline or first place is wrong",
		     "counted anew");
	return fsck->fix ? op_put(fsck->op, RECORD_QUEUE, &key, counted) : 0;
}

static int queue_add(struct queue *queue, struct slice lock, const struct ticket *ticket)
{
	struct record_queue *record = &queue->record;
	int rc = 0;

	if (!slice_equal(lock, queue->lock)) {
		rc = queue_end(queue);
		queue->lock = lock;
		*record = (struct record_queue){
			.min_deadline = ATLOCK_NEVER,
			.passed_rank = table_rank(ticket->record.priority),
			.passed = ticket->number - (ticket->number > 0),
		};
	}
	record->count++;
	if (ticket->record.deadline < record->min_deadline)
		record->min_deadline = ticket->record.deadline;
	return rc;
}

/* The key decides: a ticket whose record has another priority than its key gets that of the key. */
static int ticket_rank(struct fsck *fsck, struct slice key, struct record_ticket *record)
{
	uint8_t rank = ((const unsigned char *)key.data)[key.len - 9];
	struct record_key at = { .len = key.len };

	if (rank == table_rank(record->priority))
		return 0;
	if (rank >= ATLOCK_PRIORITIES) {
		int rc = fsck_drop(fsck, key, "the ticket stands under a priority that there is not");

		return rc < 0 ? rc : 1;
	}
	fsck_problem(fsck, key, "the ticket stands under another priority than its own", "it is that now");
	record->priority = (uint8_t)(ATLOCK_PRIORITIES - 1 - rank);
	memcpy(at.data, key.data, key.len);
	return fsck->fix ? op_put(fsck->op, RECORD_TICKET, &at, record) : 0;
}

/* Whether a ticket is valid and its lock has a record: 0, or 1 if a problem was reported. */
static int ticket_check(struct fsck *fsck, struct slice key, struct slice value, struct record_ticket *record)
{
	struct record_key lock;
	struct slice any;
	int rc = 1;

	if (key.len >= 12 && key.len <= 11 + ATLOCK_KEY_MAX && ((const char *)key.data)[key.len - 10] == '\0')
		rc = fsck_decode(fsck, RECORD_TICKET, key, value, record);
	if (rc != 0) {
		rc = rc < 0 ? rc : fsck_drop(fsck, key, "the ticket's record is damaged");
		return rc < 0 ? rc : 1;
	}
	lock = record_key_of(TABLE_LOCK, (struct slice){ (const unsigned char *)key.data + 1, key.len - 11 });
	rc = store_get(fsck->op->txn, record_key_slice(&lock), &any);
	if (rc == 1) {
		rc = fsck_drop(fsck, key, "a free lock has a waiter");
		return rc < 0 ? rc : 1;
	}
	return rc < 0 ? rc : ticket_rank(fsck, key, record);
}

static int ticket_index(struct fsck *fsck, struct slice key, struct slice lock, const struct ticket *ticket)
{
	unsigned char bytes[1 + ATLOCK_KEY_MAX];
	struct slice place = table_ticket_place(bytes, lock, ticket);
	struct record_key index;
	int rc = 0;

	if (table_ticket_index(ticket, TABLE_WAITS, &index))
		rc = fsck_expect(fsck, &index, place, key, "the ticket is not in the index of waiters");
	if (rc == 0 && table_ticket_index(ticket, TABLE_DUE, &index))
		rc = fsck_expect(fsck, &index, place, key, "the ticket is not in the index of deadlines");
	return rc;
}

static int tickets_each(struct fsck *fsck, struct queue *queue)
{
	struct scan scan = scan_table(TABLE_TICKET);
	struct ticket ticket;
	struct slice lock;
	int rc;

	while ((rc = scan_next(fsck->op, &scan)) == 0) {
		rc = ticket_check(fsck, scan.key, scan.value, &ticket.record);
		if (rc == 1)
			continue;
		lock = (struct slice){ (const unsigned char *)scan.key.data + 1, scan.key.len - 11 };
		ticket.number = record_number((const unsigned char *)scan.key.data + scan.key.len - 8);
		fsck->waiting++;
		if (rc == 0)
			rc = queue_add(queue, lock, &ticket);
		if (rc == 0)
			rc = fsck_number_add(&fsck->tickets, ticket.number, 0);
		if (rc == 0)
			rc = ticket_index(fsck, scan.key, lock, &ticket);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : queue_end(queue);
}

/* The ticket that an index entry names must have this entry. Deadlines of locks are checked with the locks. */
static int entry_one(struct fsck *fsck, struct slice key, struct slice value)
{
	enum record_table table = ((const unsigned char *)key.data)[0];
	const unsigned char *place = value.data;
	struct record_key expected;
	struct record_key at;
	struct ticket ticket;
	int rc;

	if (table == TABLE_DUE && (key.len != 18 || ((const unsigned char *)key.data)[9] != DUE_TICKET))
		return 0;
	if (key.len < 11 || value.len < 2 || value.len > 1 + ATLOCK_KEY_MAX)
		return fsck_drop(fsck, key, "the index entry is damaged");
	ticket.number = record_number((const unsigned char *)key.data + key.len - 8);
	at = record_key_ticket((struct slice){ place + 1, value.len - 1 }, place[0], ticket.number);
	rc = fsck_get(fsck, RECORD_TICKET, &at, &ticket.record);
	if (rc < 0)
		return rc;
	if (rc == 1)
		return fsck_drop(fsck, key, "the index names a ticket that is not there");
	if (!table_ticket_index(&ticket, table, &expected) || !slice_equal(record_key_slice(&expected), key))
		return fsck_drop(fsck, key, "the index does not agree with the ticket it names");
	return 0;
}

static int queue_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_key prefix = record_key_queue(fsck_rest(key));
	struct slice any;
	int rc = store_next(fsck->op->txn, record_key_slice(&prefix), record_key_slice(&prefix), &any, NULL);

	(void)value;
	return rc == 1 ? fsck_drop(fsck, key, "a queue without tickets") : rc;
}

static int text_one(struct fsck *fsck, struct slice key, struct slice value)
{
	if (key.len != 9 ||
	    fsck_number_find(&fsck->tickets, record_number((const unsigned char *)key.data + 1)) == NULL)
		return fsck_drop(fsck, key, "text of a ticket that is not there");
	return fsck_sealed(fsck, key, value);
}

int fsck_tickets(struct fsck *fsck)
{
	struct queue queue = { .fsck = fsck };
	int rc = tickets_each(fsck, &queue);

	fsck_numbers_sort(&fsck->tickets);
	if (rc == 0)
		rc = fsck_table(fsck, TABLE_WAITS, entry_one);
	if (rc == 0)
		rc = fsck_table(fsck, TABLE_DUE, entry_one);
	if (rc == 0)
		rc = fsck_table(fsck, TABLE_QUEUE, queue_one);
	return rc == 0 ? fsck_table(fsck, TABLE_TICKET_TEXT, text_one) : rc;
}
