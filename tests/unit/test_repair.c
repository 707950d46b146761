/*
 * Indexes and counts that were lost or are wrong can be made anew from the records; what is damaged is dropped, and nothing
 * else.
 */
#include "record.h"
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

/* Removes all records of a table. */
static int table_empty(struct store_txn *txn, void *arg)
{
	const unsigned char table = *(const unsigned char *)arg;
	struct slice prefix = { &table, 1 };
	struct slice key;

	while (store_next(txn, prefix, prefix, &key, NULL) == 0)
		assert_int_equal(store_del(txn, key), 0);
	return 0;
}

static void lost_indexes_are_made_anew(void **state)
{
	static const unsigned char tables[] = { TABLE_HELD, TABLE_WAITS, TABLE_DUE, TABLE_QUEUE };
	struct stage *s = *state;

	populate(s);
	for (size_t i = 0; i < sizeof(tables); i++) {
		unsigned char table = tables[i];

		assert_int_equal(stage_tamper(s, table_empty, &table), 0);
		assert_true(atlock_check(s->al, NULL) > 0);
		assert_int_equal(atlock_repair(s->al, &s->why), 0);
		assert_int_equal(atlock_check(s->al, stderr), 0);
	}
	assert_string_equal(stage_queue(s, "global/a"), "bob@1 carol@1");
	assert_non_null(strstr(stage_events(s), "repaired"));
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
}

static void entries_too_many_go(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/a");
	struct slice lock = { name.key, name.len };
	struct record_key key = record_key_held(TABLE_HELD, slice_of("mallory"), slice_of("1"), 77);

	populate(s);
	stage_put(s, record_key_slice(&key), lock);
	assert_true(atlock_check(s->al, NULL) > 0);
	assert_int_equal(atlock_repair(s->al, &s->why), 0);
	assert_int_equal(atlock_check(s->al, stderr), 0);
}

static void damaged_records_are_dropped_and_the_rest_stays(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/b");
	struct record_key key = record_key_of(TABLE_LOCK, (struct slice){ name.key, name.len });

	populate(s);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	/* The record, and the text that is nobody's then. */
	assert_int_equal(atlock_repair(s->al, &s->why), 2);
	assert_int_equal(atlock_check(s->al, stderr), 0);
	assert_string_equal(stage_holder(s, "global/b"), "free");
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	assert_string_equal(stage_queue(s, "global/a"), "bob@1 carol@1");
	assert_int_equal(stage_acquire(s, "global/b", "carol@1", 0), 0);
}

static void tickets_of_a_lost_lock_are_dropped(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/a");
	struct record_key key = record_key_of(TABLE_LOCK, (struct slice){ name.key, name.len });

	populate(s);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	assert_int_equal(atlock_repair(s->al, &s->why), 3);
	assert_int_equal(atlock_check(s->al, stderr), 0);
	assert_string_equal(stage_queue(s, "global/a"), "");
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
	assert_true(atlock_repair(NULL, &s->why) < 0);
	assert_true(atlock_restored(NULL, &s->why) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(lost_indexes_are_made_anew),
		STAGED(entries_too_many_go),
		STAGED(damaged_records_are_dropped_and_the_rest_stays),
		STAGED(tickets_of_a_lost_lock_are_dropped),
		STAGED(restored_store_leaps_ahead),
		STAGED(no_copy_where_there_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
