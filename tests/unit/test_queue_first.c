/*
 * The first of a queue is looked for from where it was found last. Whoever comes, goes or moves meanwhile is served in order all
 * the same, and so are queues whose record does not say where that was.
 */
#include "crc32c.h"
#include "record.h"
#include "stage.h"

#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "global/a"
#define STEPS 3000
#define WAITERS 12

static struct record_key queue_key(void)
{
	struct atlock_name name = stage_name(LOCK);

	return record_key_of(TABLE_QUEUE, (struct slice){ name.key, name.len });
}

static int queue_in_txn(struct store_txn *txn, void *arg)
{
	struct record_key key = queue_key();
	struct slice value;
	int rc = store_get(txn, record_key_slice(&key), &value);

	return rc == 0 ? record_decode(RECORD_QUEUE, value, arg) : -ENOENT;
}

/* The queue's record as it stands. */
static struct record_queue queue_record(struct stage *s)
{
	struct record_queue queue;

	assert_int_equal(stage_tamper(s, queue_in_txn, &queue), 0);
	return queue;
}

/* Writes the queue's record as the first version of it was: count and deadline. */
static void queue_make_old(struct stage *s)
{
	struct record_queue queue = queue_record(s);
	struct record_key key = queue_key();
	unsigned char bytes[RECORD_MAX];
	const size_t len = 2 + 8 + 8;

	assert_true(record_encode(RECORD_QUEUE, &queue, bytes) > (int)len + 4);
	bytes[1] = 1;
	uint32_t crc = htole32(crc32c(bytes, len));
	memcpy(bytes + len, &crc, sizeof(crc));
	stage_put(s, record_key_slice(&key), (struct slice){ bytes, len + sizeof(crc) });
}

static uint64_t enqueue(struct stage *s, const char *as, enum atlock_priority priority)
{
	uint64_t ticket = 0;

	assert_int_equal(stage_enqueue(s, LOCK, as, priority, &ticket), 0);
	return ticket;
}

/* --- The record --- */

static void search_begins_where_the_last_one_ended(void **state)
{
	struct stage *s = *state;
	struct record_queue queue;
	uint64_t bob;
	uint64_t carol;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 0), 0);
	bob = enqueue(s, "bob@1", ATLOCK_NORMAL);
	carol = enqueue(s, "carol@1", ATLOCK_NORMAL);
	(void)enqueue(s, "dora@1", ATLOCK_LOW);
	queue = queue_record(s);
	assert_int_equal(queue.passed_rank, 2);
	assert_int_equal(queue.passed, bob - 1);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
	queue = queue_record(s);
	assert_int_equal(queue.passed_rank, 2);
	assert_int_equal(queue.passed, carol - 1);
	bob = enqueue(s, "bob@1", ATLOCK_CRITICAL);
	queue = queue_record(s);
	assert_int_equal(queue.passed_rank, 0);
	assert_int_equal(queue.passed, bob - 1);
}

static void queue_of_an_older_version_is_served_in_order(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 0), 0);
	(void)enqueue(s, "bob@1", ATLOCK_LOW);
	(void)enqueue(s, "carol@1", ATLOCK_NORMAL);
	queue_make_old(s);
	stage_reopen(s);
	(void)enqueue(s, "dora@1", ATLOCK_NORMAL);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "carol@1 pending");
	queue_make_old(s);
	assert_int_equal(stage_release(s, LOCK, "carol@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "dora@1 pending");
	assert_int_equal(stage_release(s, LOCK, "dora@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
}

/* --- Whoever comes and goes --- */

/* Waiters that come, leave and move at random; 0 is no ticket. */
struct crowd {
	struct stage *s;
	uint64_t random;
	uint64_t tickets[WAITERS];
	char names[WAITERS][16];
	unsigned int holder; /* WAITERS: nobody */
};

static unsigned int crowd_random(struct crowd *crowd, unsigned int most)
{
	crowd->random = crowd->random * UINT64_C(6364136223846793005) + 1442695040888963407U;
	return (unsigned int)(crowd->random >> 33) % most;
}

/* The first in service order, by a walk through the whole queue. */
static unsigned int crowd_first(const struct crowd *crowd)
{
	const char *queue = stage_queue(crowd->s, LOCK);
	size_t len = strcspn(queue, " ");

	for (unsigned int i = 0; i < WAITERS; i++)
		if (strlen(crowd->names[i]) == len && strncmp(crowd->names[i], queue, len) == 0)
			return i;
	return WAITERS;
}

static void crowd_release(struct crowd *crowd)
{
	unsigned int next = crowd_first(crowd);
	char expected[32] = "free";

	if (next < WAITERS) {
		(void)snprintf(expected, sizeof(expected), "%s pending", crowd->names[next]);
		crowd->tickets[next] = 0;
	}
	assert_int_equal(stage_release(crowd->s, LOCK, crowd->names[crowd->holder]), 0);
	assert_string_equal(stage_holder(crowd->s, LOCK), expected);
	crowd->holder = next;
}

static void crowd_step(struct crowd *crowd)
{
	struct stage *s = crowd->s;
	unsigned int who = crowd_random(crowd, WAITERS);
	enum atlock_priority priority = (enum atlock_priority)crowd_random(crowd, ATLOCK_PRIORITIES);
	uint64_t *ticket = &crowd->tickets[who];
	struct atlock_request *req = stage_ask(s, LOCK, crowd->names[who]);

	req->priority = priority;
	if (crowd->holder == WAITERS) {
		assert_int_equal(stage_acquire(s, LOCK, crowd->names[who], 0), 0);
		crowd->holder = who;
	} else if (crowd_random(crowd, 3) == 0) {
		crowd_release(crowd);
	} else if (who == crowd->holder) {
		stage_reopen(s);
	} else if (*ticket == 0) {
		*ticket = enqueue(s, crowd->names[who], priority);
	} else if (crowd_random(crowd, 2) == 0) {
		assert_int_equal(atlock_cancel(s->al, req, *ticket, &s->why), 0);
		*ticket = 0;
	} else {
		struct atlock_name name = stage_name(LOCK);
		struct atlock_caller caller = stage_caller(crowd->names[who]);
		struct atlock_ticket moved;

		assert_int_equal(atlock_reprioritise(s->al, req, *ticket, &s->why), 0);
		assert_int_equal(atlock_ticket_get(s->al, &name, 0, caller.owner, caller.who, &moved), 0);
		*ticket = moved.ticket;
		atlock_ticket_clear(&moved);
	}
}

static void crowd_is_served_in_order(void **state)
{
	struct crowd crowd = { .s = *state, .random = 1, .holder = WAITERS };

	for (unsigned int i = 0; i < WAITERS; i++)
		(void)snprintf(crowd.names[i], sizeof(crowd.names[i]), "bob@%u", i);
	for (unsigned int i = 0; i < STEPS; i++) {
		crowd_step(&crowd);
		if (i % 100 == 0)
			assert_int_equal(atlock_check(crowd.s->al, stderr), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(search_begins_where_the_last_one_ended),
		STAGED(queue_of_an_older_version_is_served_in_order),
		STAGED(crowd_is_served_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
