/*
 * Damaged records: each is reported with its key, stays out of everybody else's way, and crashes nothing.
 */
#include "record.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct slice key_of(const struct atlock_name *name)
{
	return (struct slice){ name->key, name->len };
}

/* Overwrites the record of a lock in one of the tables. */
static void damage(struct stage *s, enum record_table table, const char *lock)
{
	struct atlock_name name = stage_name(lock);
	struct record_key key = record_key_of(table, key_of(&name));

	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	s->damaged = true;
}

/* Every call about the lock gives the same answer. */
static void damaged_lock_is_an_error_that_names_its_key(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/bad");
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_request *req = stage_ask(s, "global/bad", "alice@1");
	struct atlock_view view;

	assert_int_equal(stage_acquire(s, "global/bad", "alice@1", 0), 0);
	damage(s, TABLE_LOCK, "global/bad");
	uint64_t before = stage_commits(s);
	assert_int_equal(stage_acquire(s, "global/bad", "alice@1", 0), -EIO);
	assert_int_equal(s->why.code, ATLOCK_BACKEND_ERROR);
	assert_non_null(strstr(s->why.text, "lgbad"));
	assert_int_equal(stage_release(s, "global/bad", "alice@1"), -EIO);
	assert_non_null(strstr(s->why.text, "lgbad"));
	assert_int_equal(stage_renew(s, "global/bad", "alice@1", 0), -EIO);
	assert_int_equal(stage_write(s, "global/bad", "alice@1", "a=1\n"), -EIO);
	assert_int_equal(stage_transfer(s, "global/bad", "alice@1", "bob@1"), -EIO);
	assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), -EIO);
	assert_int_equal(atlock_claim(s->al, req, &s->why), -EIO);
	assert_int_equal(stage_wait(s, "global/bad", "bob@1", ATLOCK_NORMAL, stage_told(s), NULL), -EIO);
	assert_int_equal(stage_enqueue(s, "global/bad", "bob@1", ATLOCK_NORMAL, NULL), -EIO);
	assert_int_equal(atlock_get(s->al, &name, &view), -EIO);
	assert_int_equal(atlock_holds(s->al, &name, &alice, &view, &s->why), -EIO);
	assert_int_equal(stage_commits(s), before);
}

static void other_locks_stay_usable(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/bad", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/good", "alice@1", 0), 0);
	damage(s, TABLE_LOCK, "global/bad");
	assert_string_equal(stage_holder(s, "global/good"), "alice@1");
	assert_int_equal(stage_renew(s, "global/good", "alice@1", 60), 0);
	assert_int_equal(stage_enqueue(s, "global/good", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_release(s, "global/good", "alice@1"), 0);
	assert_string_equal(stage_holder(s, "global/good"), "bob@1 pending");
	assert_int_equal(stage_acquire(s, "global/new", "alice@1", 0), 0);
}

/* A lease behind a damaged record ends, and so does the wait of whoever stands behind it. */
static void leases_of_others_still_end(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	assert_int_equal(stage_acquire(s, "global/bad", "alice@1", 10), 0);
	assert_int_equal(stage_acquire(s, "global/good", "alice@1", 20), 0);
	assert_int_equal(stage_wait(s, "global/good", "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	damage(s, TABLE_LOCK, "global/bad");
	stage_advance(s, 21);
	/* That something is wrong is said all the same. */
	assert_int_equal(atlock_run_due(s->al), -EIO);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, 0);
}

/* Good ones before, between and after bad ones, in more than one transaction's worth. */
static void sweep_passes_over_everything_that_is_damaged(void **state)
{
	struct stage *s = *state;
	struct atlock_status status;
	char name[32];

	for (int i = 0; i < 1500; i++) {
		(void)snprintf(name, sizeof(name), "global/%d", i);
		assert_int_equal(stage_acquire(s, name, "alice@1", 10), 0);
		stage_advance_ns(s, 1);
	}
	damage(s, TABLE_LOCK, "global/0");
	damage(s, TABLE_LOCK, "global/700");
	damage(s, TABLE_LOCK, "global/701");
	damage(s, TABLE_LOCK, "global/1499");
	stage_advance(s, 11);
	assert_int_equal(atlock_run_due(s->al), -EIO);
	assert_int_equal(atlock_status(s->al, &status), 0);
	assert_int_equal(status.held, 4);
	assert_int_equal(atlock_run_due(s->al), -EIO);
}

static void deadline_of_nothing_is_passed_over_too(void **state)
{
	struct stage *s = *state;
	struct record_key stray = record_key_due(5, DUE_LOCK, 4711);

	assert_int_equal(stage_acquire(s, "global/good", "alice@1", 10), 0);
	stage_put(s, record_key_slice(&stray), slice_of("gnobody"));
	s->damaged = true;
	stage_advance(s, 11);
	assert_int_equal(atlock_run_due(s->al), -EIO);
	assert_string_equal(stage_events(s), "acquired expired");
}

static void damaged_lock_does_not_keep_the_store_from_opening(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/bad", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/good", "alice@1", 0), 0);
	damage(s, TABLE_LOCK, "global/bad");
	stage_reopen(s);
	assert_string_equal(stage_holder(s, "global/good"), "alice@1");
}

/* Those that are looked at when a store is opened. */
static void damage_among_what_is_recovered_does_not_either(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/good");
	struct record_key key;
	uint64_t ticket;

	assert_int_equal(stage_acquire(s, "global/bad", "alice@flock:1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/worse", "alice@pid:1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/fine", "alice@flock:1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/good", "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/good", "bob@1", ATLOCK_CRITICAL, &ticket), 0);
	damage(s, TABLE_LOCK, "global/bad");
	damage(s, TABLE_LOCK, "global/worse");
	key = record_key_ticket(key_of(&name), 0, ticket);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	stage_reopen(s);
	assert_string_equal(stage_holder(s, "global/good"), "alice@1");
	assert_string_equal(stage_holder(s, "global/fine"), "free");
}

static void damaged_queue_is_an_error_that_names_its_key(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/bad", "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/bad", "bob@1", ATLOCK_NORMAL, NULL), 0);
	damage(s, TABLE_QUEUE, "global/bad");
	assert_int_equal(stage_enqueue(s, "global/bad", "carol@1", ATLOCK_NORMAL, NULL), -EIO);
	assert_non_null(strstr(s->why.text, "Qgbad"));
}

static void damaged_ticket_is_an_error_that_names_its_key(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/bad");
	struct record_key key;
	uint64_t ticket;

	assert_int_equal(stage_acquire(s, "global/bad", "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/bad", "bob@1", ATLOCK_CRITICAL, &ticket), 0);
	key = record_key_ticket(key_of(&name), 0, ticket);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	s->damaged = true;
	assert_int_equal(stage_release(s, "global/bad", "alice@1"), -EIO);
	assert_non_null(strstr(s->why.text, "qgbad"));
	assert_string_equal(stage_holder(s, "global/bad"), "alice@1");
}

static void check_counts_what_is_damaged(void **state)
{
	struct stage *s = *state;
	char *report = NULL;
	size_t len = 0;

	assert_int_equal(stage_acquire(s, "global/bad", "alice@1", 0), 0);
	assert_int_equal(atlock_check(s->al, stderr), 0);
	damage(s, TABLE_LOCK, "global/bad");
	FILE *out = open_memstream(&report, &len);
	assert_non_null(out);
	assert_true(atlock_check(s->al, out) > 0);
	(void)fclose(out);
	assert_non_null(strstr(report, "lgbad: the lock's record is damaged"));
	free(report);
}

struct flip {
	struct record_key key;
	size_t bit;
	size_t bits;
};

static int flip_in_txn(struct store_txn *txn, void *arg)
{
	struct flip *flip = arg;
	unsigned char bytes[RECORD_MAX];
	struct slice value;
	int rc = store_get(txn, record_key_slice(&flip->key), &value);

	if (rc != 0)
		return rc < 0 ? rc : -ENOENT;
	memcpy(bytes, value.data, value.len);
	flip->bits = 8 * value.len;
	bytes[flip->bit / 8] ^= (unsigned char)(1U << (flip->bit % 8));
	return store_put(txn, record_key_slice(&flip->key), (struct slice){ bytes, value.len });
}

/* Whichever bit it is, it is noticed; and when it is put right, the lock is as before. */
static void any_bit_of_a_lock_is_noticed(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/a");
	struct flip flip = { .key = record_key_of(TABLE_LOCK, key_of(&name)), .bits = 1 };
	struct atlock_view view;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	for (flip.bit = 0; flip.bit < flip.bits; flip.bit++) {
		assert_int_equal(stage_tamper(s, flip_in_txn, &flip), 0);
		assert_int_equal(atlock_get(s->al, &name, &view), -EIO);
		assert_int_equal(stage_tamper(s, flip_in_txn, &flip), 0);
	}
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(damaged_lock_is_an_error_that_names_its_key),
		STAGED(other_locks_stay_usable),
		STAGED(leases_of_others_still_end),
		STAGED(sweep_passes_over_everything_that_is_damaged),
		STAGED(deadline_of_nothing_is_passed_over_too),
		STAGED(damaged_lock_does_not_keep_the_store_from_opening),
		STAGED(damage_among_what_is_recovered_does_not_either),
		STAGED(damaged_queue_is_an_error_that_names_its_key),
		STAGED(damaged_ticket_is_an_error_that_names_its_key),
		STAGED(check_counts_what_is_damaged),
		STAGED(any_bit_of_a_lock_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
