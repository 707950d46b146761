/*
 * The gate every store passes when it is opened: new, the same, older, newer, not ours.
 */
#include "format.h"
#include "scratch.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void put_format(struct stage *s, uint32_t version)
{
	struct record_format record = { .version = version };
	struct record_key key = record_key_meta("format");
	unsigned char bytes[RECORD_MAX];
	int len = record_encode(RECORD_FORMAT_INFO, &record, bytes);

	assert_true(len > 0);
	stage_put(s, record_key_slice(&key), (struct slice){ bytes, (size_t)len });
}

static int read_in_txn(struct op *op)
{
	struct record_key key = record_key_meta("format");

	return op_get(op, RECORD_FORMAT_INFO, &key, op->arg);
}

static uint32_t format_now(struct stage *s)
{
	struct record_format record = { .version = 0 };
	struct op op;

	op_init(&op, s->al, NULL, NULL);
	op.arg = &record;
	assert_int_equal(op_view(&op, read_in_txn), 0);
	return record.version;
}

/* Tries to open, for reading or writing. */
static int try_open(struct stage *s, bool readonly)
{
	struct atlock_setup setup = {
		.host = "host",
		.manual = true,
		.readonly = readonly,
		.store_engine = &mem_engine,
		.store_engine_arg = s->world,
	};
	struct atlock *al = NULL;
	int rc = atlock_open(&al, "mem", &setup, &s->why);

	atlock_close(al);
	return rc;
}

static void new_store_gets_the_format_of_this_program(void **state)
{
	assert_int_equal(format_now(*state), RECORD_FORMAT);
}

static void store_of_the_same_format_is_taken_as_it_is(void **state)
{
	struct stage *s = *state;
	uint64_t before = stage_commits(s);

	assert_int_equal(format_open(s->al, &s->why), 0);
	assert_int_equal(stage_commits(s), before);
}

static void newer_store_is_refused_and_left_alone(void **state)
{
	struct stage *s = *state;

	stage_close(s);
	put_format(s, RECORD_FORMAT + 1);
	uint64_t before = stage_commits(s);
	assert_int_equal(try_open(s, false), -EPROTONOSUPPORT);
	assert_int_equal(s->why.code, ATLOCK_BACKEND_ERROR);
	assert_non_null(strstr(s->why.text, "newer"));
	assert_int_equal(try_open(s, true), -EPROTONOSUPPORT);
	assert_int_equal(stage_commits(s), before);
}

static void newer_format_record_is_refused(void **state)
{
	static const unsigned char bytes[] = { RECORD_FORMAT_INFO, 99, 0, 0, 0, 0 };
	struct record_key key = record_key_meta("format");
	struct stage *s = *state;

	stage_close(s);
	stage_put(s, record_key_slice(&key), (struct slice){ bytes, sizeof(bytes) });
	assert_int_equal(try_open(s, false), -EIO);
	assert_non_null(strstr(s->why.text, "format"));
}

static int del_in_txn(struct store_txn *txn, void *arg)
{
	const struct record_key *key = arg;

	return store_del(txn, record_key_slice(key));
}

/* It is no other program's, whatever happened to it. */
static void damaged_format_is_said_to_be_damaged(void **state)
{
	struct record_key key = record_key_meta("format");
	struct stage *s = *state;
	uint64_t before;

	stage_close(s);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	before = stage_commits(s);
	assert_int_equal(try_open(s, false), -EIO);
	assert_non_null(strstr(s->why.text, "damaged"));
	assert_int_equal(stage_commits(s), before);
	assert_int_equal(stage_tamper(s, del_in_txn, &key), 0);
	before = stage_commits(s);
	assert_int_equal(try_open(s, false), -EIO);
	assert_non_null(strstr(s->why.text, "damaged"));
	assert_non_null(strstr(s->why.text, "copy"));
	assert_int_equal(try_open(s, true), -EIO);
	assert_int_equal(stage_commits(s), before);
}

static void data_of_somebody_else_is_refused_and_left_alone(void **state)
{
	struct stage other = { .world = mem_world_new(2) };

	(void)state;
	stage_put(&other, slice_of("theirs"), slice_of("data"));
	uint64_t before = stage_commits(&other);
	assert_int_equal(try_open(&other, false), -EINVAL);
	assert_non_null(strstr(other.why.text, "other data"));
	assert_int_equal(stage_commits(&other), before);
	mem_world_free(other.world);
}

static int put_theirs(struct store_txn *txn, void *arg)
{
	(void)arg;
	return store_put(txn, slice_of("theirs"), slice_of("data"));
}

static void lmdb_store_of_somebody_else_is_refused(void **state)
{
	struct store_options options = { .sync = STORE_SYNC_OFF };
	char *dir = scratch_new();
	struct atlock_why why;
	struct atlock *al = NULL;
	struct store *store;
	char text[256];

	(void)state;
	assert_int_equal(store_open(&store, dir, &options, text, sizeof(text)), 0);
	assert_int_equal(store_update(store, put_theirs, NULL), 0);
	store_close(store);
	assert_int_equal(atlock_open(&al, dir, NULL, &why), -EINVAL);
	assert_null(al);
	assert_non_null(strstr(why.text, "other data"));
	scratch_remove(dir);
}

static void new_store_is_not_opened_for_reading(void **state)
{
	struct stage other = { .world = mem_world_new(2) };

	(void)state;
	assert_int_equal(try_open(&other, true), -EROFS);
	assert_int_equal(stage_commits(&other), 0);
	mem_world_free(other.world);
}

static int mark(struct op *op, const char *name)
{
	struct record_key key = record_key_meta(name);

	return store_put(op->txn, record_key_slice(&key), slice_of("done"));
}

static int step_one(struct op *op)
{
	return mark(op, "step1");
}

static int step_two(struct op *op)
{
	struct record_key key = record_key_meta("step1");
	struct slice value;

	/* The next step sees what the one before it wrote. */
	return store_get(op->txn, record_key_slice(&key), &value) == 0 ? mark(op, "step2") : -EINVAL;
}

static int step_fails(struct op *op)
{
	int rc = mark(op, "broken");

	return rc < 0 ? rc : -ENOSPC;
}

static int has_in_txn(struct op *op)
{
	struct record_key key = record_key_meta(op->arg);
	struct slice value;

	return store_get(op->txn, record_key_slice(&key), &value);
}

static bool has(struct stage *s, char *name)
{
	struct op op;

	op_init(&op, s->al, NULL, NULL);
	op.arg = name;
	return op_view(&op, has_in_txn) == 0;
}

static void older_store_is_upgraded_in_one_transaction(void **state)
{
	format_step *const steps[] = { [RECORD_FORMAT] = step_one, step_two };
	struct stage *s = *state;
	uint64_t before = stage_commits(s);

	assert_int_equal(format_open_as(s->al, RECORD_FORMAT + 2, steps, &s->why), 0);
	assert_int_equal(stage_commits(s), before + 1);
	assert_int_equal(format_now(s), RECORD_FORMAT + 2);
	assert_true(has(s, "step1"));
	assert_true(has(s, "step2"));
	s->damaged = true; /* no program of this version may read it now */
}

static void step_that_fails_leaves_nothing(void **state)
{
	format_step *const steps[] = { [RECORD_FORMAT] = step_one, step_fails };
	struct stage *s = *state;
	uint64_t before = stage_commits(s);

	assert_int_equal(format_open_as(s->al, RECORD_FORMAT + 2, steps, &s->why), -ENOSPC);
	assert_non_null(strstr(s->why.text, "format 3"));
	assert_int_equal(stage_commits(s), before);
	assert_int_equal(format_now(s), RECORD_FORMAT);
	assert_false(has(s, "step1"));
	assert_false(has(s, "broken"));
}

static void format_without_a_way_up_is_refused(void **state)
{
	format_step *const steps[] = { [RECORD_FORMAT] = NULL };
	struct stage *s = *state;

	assert_int_equal(format_open_as(s->al, RECORD_FORMAT + 1, steps, &s->why), -ENOSYS);
	assert_int_equal(format_now(s), RECORD_FORMAT);
}

/* A commit that fails during the upgrade must not leave a store that claims to be upgraded. */
static void upgrade_whose_commit_fails_can_be_tried_again(void **state)
{
	format_step *const steps[] = { [RECORD_FORMAT] = step_one, step_two };
	struct stage *s = *state;

	*mem_world_faults(s->world) = (struct mem_faults){ .fail_in = 1, .fail_error = EIO };
	assert_int_equal(format_open_as(s->al, RECORD_FORMAT + 2, steps, &s->why), -EIO);
	assert_int_equal(format_now(s), RECORD_FORMAT);
	assert_false(has(s, "step1"));
	assert_int_equal(format_open_as(s->al, RECORD_FORMAT + 2, steps, &s->why), 0);
	assert_int_equal(format_now(s), RECORD_FORMAT + 2);
	s->damaged = true; /* no program of this version may read it now */
}

static int forget_in_txn(struct store_txn *txn, void *arg)
{
	const unsigned char table = TABLE_ID;
	struct slice prefix = { &table, 1 };
	struct slice key;

	(void)arg;
	while (store_next(txn, prefix, prefix, &key, NULL) == 0) {
		struct record_key gone = record_key_after(key);

		gone.len = key.len;
		memcpy(gone.data, key.data, key.len);
		assert_int_equal(store_del(txn, record_key_slice(&gone)), 0);
	}
	return 0;
}

/* Format 1 had no index of ids. */
static void locks_of_format_1_are_found_by_id(void **state)
{
	struct stage *s = *state;
	char id[ATLOCK_ID_MAX];
	struct atlock_view view;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	view = stage_view(s, "global/a");
	atlock_by_id(&view, id);
	atlock_view_clear(&view);
	stage_close(s);
	assert_int_equal(stage_tamper(s, forget_in_txn, NULL), 0);
	put_format(s, 1);
	assert_int_equal(try_open(s, true), -EROFS);
	stage_open(s);
	assert_int_equal(format_now(s), RECORD_FORMAT);
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_OWNER, "alice", id, &view), 0);
	atlock_view_clear(&view);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(new_store_gets_the_format_of_this_program),
		STAGED(store_of_the_same_format_is_taken_as_it_is),
		STAGED(newer_store_is_refused_and_left_alone),
		STAGED(newer_format_record_is_refused),
		STAGED(damaged_format_is_said_to_be_damaged),
		STAGED(data_of_somebody_else_is_refused_and_left_alone),
		cmocka_unit_test(lmdb_store_of_somebody_else_is_refused),
		STAGED(new_store_is_not_opened_for_reading),
		STAGED(older_store_is_upgraded_in_one_transaction),
		STAGED(step_that_fails_leaves_nothing),
		STAGED(format_without_a_way_up_is_refused),
		STAGED(upgrade_whose_commit_fails_can_be_tried_again),
		STAGED(locks_of_format_1_are_found_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
