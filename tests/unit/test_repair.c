/*
 * Indexes and counts of locks and tickets that were lost or are wrong are made anew from the records, and locks whose record is
 * damaged from the indexes. No held lock comes free.
 */
#include "crc32c.h"
#include "record.h"
#include "spoil.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void populate(struct stage *s)
{
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	assert_int_equal(stage_write(s, "global/b", "bob@1", "reason=x\n"), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_HIGH, NULL), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "carol@1", ATLOCK_NORMAL, NULL), 0);
}

static struct record_key key_of(enum record_table table, const char *lock)
{
	struct atlock_name name = stage_name(lock);

	return record_key_of(table, (struct slice){ name.key, name.len });
}

static void lost_indexes_are_made_anew(void **state)
{
	static const unsigned char tables[] = { TABLE_HELD, TABLE_WAITS, TABLE_DUE, TABLE_QUEUE };
	struct stage *s = *state;

	populate(s);
	for (size_t i = 0; i < sizeof(tables); i++) {
		spoil_empty(s, tables[i]);
		spoil_repair(s);
	}
	assert_string_equal(stage_queue(s, "global/a"), "bob@1 carol@1");
	assert_non_null(strstr(stage_events(s), "repaired"));
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
}

/* A place behind the first ticket would keep it from ever being served. */
static void queue_that_begins_too_late_is_counted_anew(void **state)
{
	struct stage *s = *state;
	struct record_queue queue = { .count = 2, .passed_rank = ATLOCK_PRIORITIES - 1 };
	struct record_key key = key_of(TABLE_QUEUE, "global/a");
	unsigned char bytes[RECORD_MAX];
	int len = record_encode(RECORD_QUEUE, &queue, bytes);

	assert_true(len > 0);
	populate(s);
	stage_put(s, record_key_slice(&key), (struct slice){ bytes, (size_t)len });
	assert_string_equal(spoil_repair(s),
			    "Qga: the queue's count, earliest deadline or first place is wrong: counted anew\n");
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
}

static void entries_too_many_go(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/a");
	struct slice lock = { name.key, name.len };
	struct record_key key = record_key_held(TABLE_HELD, slice_of("mallory"), slice_of("1"), 2);

	populate(s);
	stage_put(s, record_key_slice(&key), lock);
	key = record_key_due(1, DUE_LOCK, 2);
	stage_put(s, record_key_slice(&key), lock);
	key = record_key_due(1, DUE_TICKET, 77);
	stage_put(s, record_key_slice(&key), slice_of("\1ga"));
	key = record_key_of(TABLE_QUEUE, slice_of("gfree"));
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	key = record_key_number(TABLE_TICKET_TEXT, 77);
	stage_put(s, record_key_slice(&key), slice_of("a=b\n"));
	key = key_of(TABLE_TEXT, "global/free");
	stage_put(s, record_key_slice(&key), slice_of("a=b\n"));
	assert_string_equal(spoil_repair(s), "ugfree: text of a lock that is free: dropped\n"
					     "omallory\\001\\00\\00\\00\\00\\00\\00\\00\\00\\02: "
					     "the index of holders names another holder than the lock: dropped\n"
					     "x\\00\\00\\00\\00\\00\\00\\00\\01l\\00\\00\\00\\00\\00\\00\\00\\02: "
					     "the index of deadlines does not agree with the lock: dropped\n"
					     "x\\00\\00\\00\\00\\00\\00\\00\\01t\\00\\00\\00\\00\\00\\00\\00M: "
					     "the index names a ticket that is not there: dropped\n"
					     "Qgfree: a queue without tickets: dropped\n"
					     "v\\00\\00\\00\\00\\00\\00\\00M: "
					     "text of a ticket that is not there: dropped\n");
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
}

/* Owner, who, token and lease are in the indexes, too. */
static void damaged_lock_stays_whose_it_was(void **state)
{
	struct stage *s = *state;
	struct record_key key = key_of(TABLE_LOCK, "global/a");
	struct atlock_view before;
	struct atlock_view after;

	populate(s);
	before = stage_view(s, "global/a");
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	assert_string_equal(spoil_repair(s),
			    "lga: the lock's record is damaged or gone: made anew from the index of holders\n");
	after = stage_view(s, "global/a");
	assert_string_equal(after.owner, "alice");
	assert_string_equal(after.who, "1");
	assert_int_equal(after.token, before.token);
	assert_int_equal(after.expires_at, before.expires_at);
	assert_int_equal(after.waiters, 2);
	atlock_view_clear(&before);
	atlock_view_clear(&after);
	assert_int_equal(stage_acquire(s, "global/a", "dave@1", 0), -EACCES);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
}

static void lost_locks_come_back(void **state)
{
	struct stage *s = *state;
	struct atlock_view view;

	populate(s);
	spoil_empty(s, TABLE_LOCK);
	spoil_repair(s);
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	assert_string_equal(stage_holder(s, "global/b"), "bob@1");
	assert_string_equal(stage_queue(s, "global/a"), "bob@1 carol@1");
	view = stage_view(s, "global/b");
	assert_string_equal(view.meta, "reason=x\n");
	atlock_view_clear(&view);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
}

/* Its record is there under another name, and the index of holders brings it back under its own. */
static void lock_with_a_damaged_key_is_held_under_both_names(void **state)
{
	struct stage *s = *state;
	struct record_key key = key_of(TABLE_LOCK, "global/a");
	unsigned char buf[RECORD_MAX];
	struct record_lock record = {
		.grant = {
			.state = RECORD_ACQUIRED,
			.token = 1,
			.expires = ATLOCK_NEVER,
			.ttl = ATLOCK_NEVER,
			.holder = {
				.owner = slice_of("alice"),
				.who = slice_of("1"),
				.host = slice_of("h"),
			},
		},
	};
	int len = record_encode(RECORD_LOCK, &record, buf);

	populate(s);
	spoil_del(s, record_key_slice(&key));
	key = key_of(TABLE_LOCK, "global/0");
	stage_put(s, record_key_slice(&key), (struct slice){ buf, (size_t)len });
	assert_non_null(strstr(spoil_repair(s), "lg0: another lock has the same token: it gets a new one\n"));
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	assert_string_equal(stage_holder(s, "global/0"), "alice@1");
	assert_string_equal(stage_queue(s, "global/a"), "bob@1 carol@1");
	assert_int_equal(stage_release(s, "global/0", "alice@1"), 0);
}

static void damaged_lock_of_nobody_knows_whom_stays_held(void **state)
{
	struct stage *s = *state;
	struct record_key key = key_of(TABLE_LOCK, "global/b");

	populate(s);
	spoil_empty(s, TABLE_HELD);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	assert_non_null(strstr(spoil_repair(s),
			       "lgb: the lock's record is damaged: its holder is unknown, so root@fsck "
			       "holds it until an administrator removes it\n"));
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	assert_string_equal(stage_holder(s, "global/b"), "root@fsck");
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), -EACCES);
	assert_int_equal(stage_release(s, "global/b", "root@fsck"), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
}

static void key_that_is_no_lock_goes(void **state)
{
	struct stage *s = *state;

	populate(s);
	stage_put(s, slice_of("lZebra"), slice_of("garbage"));
	stage_put(s, slice_of("lc short"), slice_of("garbage"));
	assert_string_equal(spoil_repair(s), "lZebra: no lock can have this name: dropped\n"
					     "lc\\20short: no lock can have this name: dropped\n");
}

static void damaged_ticket_is_dropped_and_the_others_stay(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/a");
	struct record_key key;
	uint64_t ticket;

	populate(s);
	assert_int_equal(stage_enqueue(s, "global/a", "dave@1", ATLOCK_CRITICAL, &ticket), 0);
	key = record_key_ticket((struct slice){ name.key, name.len }, 0, ticket);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	assert_non_null(strstr(spoil_repair(s), ": the ticket's record is damaged: dropped\n"));
	assert_string_equal(stage_queue(s, "global/a"), "bob@1 carol@1");
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
}

static int move_ticket(struct store_txn *txn, void *arg)
{
	struct record_key from = record_key_ticket(slice_of("ga"), 1, *(const uint64_t *)arg);
	struct record_key to = record_key_ticket(slice_of("ga"), 3, *(const uint64_t *)arg);
	struct slice value;

	assert_int_equal(store_get(txn, record_key_slice(&from), &value), 0);
	assert_int_equal(store_put(txn, record_key_slice(&to), value), 0);
	return store_del(txn, record_key_slice(&from));
}

static void place_in_the_queue_decides_the_priority(void **state)
{
	struct stage *s = *state;
	uint64_t ticket;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_HIGH, &ticket), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "carol@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_tamper(s, move_ticket, &ticket), 0);
	assert_non_null(strstr(spoil_repair(s), "another priority than its own: it is that now\n"));
	assert_string_equal(stage_queue(s, "global/a"), "carol@1 bob@1");
}

static void tickets_for_a_free_lock_are_dropped(void **state)
{
	struct stage *s = *state;

	populate(s);
	spoil_empty(s, TABLE_LOCK);
	spoil_empty(s, TABLE_HELD);
	assert_non_null(strstr(spoil_repair(s), ": a free lock has a waiter: dropped\n"));
	assert_string_equal(stage_queue(s, "global/a"), "");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
}

static void tokens_are_never_given_out_twice(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_meta("counter");
	uint64_t token;

	populate(s);
	token = s->grant.token;
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	assert_int_equal(stage_acquire(s, "global/c", "alice@1", 60), -EIO);
	assert_string_equal(spoil_repair(s), "fcounter: the counter of tokens is damaged, gone or behind: "
					     "it goes on far above all that are known\n");
	assert_int_equal(stage_acquire(s, "global/c", "alice@1", 60), 0);
	assert_true(s->grant.token > token + UINT32_MAX);
	/* What has been given back is known from the events alone. */
	token = s->grant.token;
	assert_int_equal(stage_release(s, "global/c", "alice@1"), 0);
	spoil_del(s, record_key_slice(&key));
	spoil_repair(s);
	assert_int_equal(stage_acquire(s, "global/c", "alice@1", 60), 0);
	assert_true(s->grant.token > token);
}

/* Keys have no checksum. */
static void damaged_key_does_not_turn_the_counter_back(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/a");
	struct record_key key = record_key_meta("counter");
	uint64_t token;

	populate(s);
	spoil_del(s, record_key_slice(&key));
	spoil_repair(s);
	assert_int_equal(stage_acquire(s, "global/c", "alice@1", 60), 0);
	token = s->grant.token;
	key = record_key_held(TABLE_HELD, slice_of("alice"), slice_of("2"), UINT64_MAX);
	stage_put(s, record_key_slice(&key), (struct slice){ name.key, name.len });
	spoil_repair(s);
	assert_int_equal(stage_acquire(s, "global/d", "alice@1", 60), 0);
	assert_int_equal(s->grant.token, token + 1);
}

/* With sync=off, a crash may have taken back commits that gave out numbers up to the ceiling. */
static void what_a_crash_took_back_is_not_given_out_again(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_meta("counter");
	struct record_counter counter = { .next = 100, .ceiling = 1000 };
	struct atlock_view view;
	unsigned char buf[RECORD_MAX];
	int len = record_encode(RECORD_COUNTER, &counter, buf);

	populate(s);
	stage_put(s, record_key_slice(&key), (struct slice){ buf, (size_t)len });
	spoil_empty(s, TABLE_HELD);
	spoil_garble(s, TABLE_LOCK);
	spoil_repair(s);
	view = stage_view(s, "global/a");
	assert_true(view.token >= 1000);
	atlock_view_clear(&view);
}

/* What a newer version wrote is not damaged: nothing is touched. */
static void newer_record_stops_the_repair(void **state)
{
	struct stage *s = *state;
	struct record_key key = key_of(TABLE_LOCK, "global/b");
	struct record_lock record = {
		.grant.holder = { .owner = slice_of("bob"), .who = slice_of("1"), .host = slice_of("h") },
	};
	unsigned char buf[RECORD_MAX];
	int len = record_encode(RECORD_LOCK, &record, buf);
	uint32_t crc;

	populate(s);
	buf[1] = 99;
	crc = crc32c(buf, (size_t)len - 4);
	for (int i = 0; i < 4; i++)
		buf[len - 4 + i] = (unsigned char)(crc >> (8 * i));
	stage_put(s, record_key_slice(&key), (struct slice){ buf, (size_t)len });
	spoil_empty(s, TABLE_WAITS);
	assert_int_equal(atlock_repair(s->al, NULL, &s->why), -EIO);
	assert_non_null(strstr(s->why.text, "newer version"));
	assert_true(atlock_check(s->al, NULL) > 2);
	s->damaged = true;
}

static void store_of_no_known_format_is_not_touched(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_meta("format");

	populate(s);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	assert_int_equal(atlock_check(s->al, NULL), 1);
	stage_put(s, slice_of("\x01 of a later format"), slice_of("1"));
	assert_int_equal(atlock_repair(s->al, NULL, &s->why), -EIO);
	assert_non_null(strstr(s->why.text, "the record of the format is damaged or gone"));
	assert_int_equal(atlock_check(s->al, NULL), 2);
	s->damaged = true;
}

static void what_is_in_order_is_left_alone(void **state)
{
	struct stage *s = *state;

	populate(s);
	(void)stage_events(s);
	assert_int_equal(atlock_repair(s->al, stderr, &s->why), 0);
	assert_string_equal(stage_events(s), "repaired");
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
}

/* A restored copy gives out no number that the original may have given out since. */
static void restored_store_leaps_ahead(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	uint64_t before = s->grant.token;
	assert_int_equal(atlock_restored(s->al, &s->why), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 60), 0);
	assert_true(s->grant.token > before + UINT32_MAX);
	assert_non_null(strstr(stage_events(s), "restored"));
}

static void no_copy_where_there_is_no_file(void **state)
{
	struct stage *s = *state;

	assert_int_equal(atlock_backup(s->al, "/nonexistent/copy", &s->why), -ENOTSUP);
	assert_int_equal(atlock_backup(s->al, "", &s->why), -EINVAL);
	assert_int_equal(atlock_backup(NULL, "x", &s->why), -EINVAL);
	assert_true(atlock_repair(NULL, NULL, &s->why) < 0);
	assert_true(atlock_restored(NULL, &s->why) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(lost_indexes_are_made_anew),
		STAGED(queue_that_begins_too_late_is_counted_anew),
		STAGED(entries_too_many_go),
		STAGED(damaged_lock_stays_whose_it_was),
		STAGED(lost_locks_come_back),
		STAGED(lock_with_a_damaged_key_is_held_under_both_names),
		STAGED(damaged_lock_of_nobody_knows_whom_stays_held),
		STAGED(key_that_is_no_lock_goes),
		STAGED(damaged_ticket_is_dropped_and_the_others_stay),
		STAGED(place_in_the_queue_decides_the_priority),
		STAGED(tickets_for_a_free_lock_are_dropped),
		STAGED(tokens_are_never_given_out_twice),
		STAGED(damaged_key_does_not_turn_the_counter_back),
		STAGED(what_a_crash_took_back_is_not_given_out_again),
		STAGED(newer_record_stops_the_repair),
		STAGED(store_of_no_known_format_is_not_touched),
		STAGED(what_is_in_order_is_left_alone),
		STAGED(restored_store_leaps_ahead),
		STAGED(no_copy_where_there_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
