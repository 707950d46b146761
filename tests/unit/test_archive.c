/*
 * Events that go: those that were archived, and days past events_keep. The log begins behind the last of them, and says so; where
 * events are gone otherwise, it is cut.
 */
#include "record.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "global/a"
#define DAY 86400

static void some_events(struct stage *s, int n)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
		assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	}
}

struct wanted {
	uint64_t seq;
	char text[96];
};

static int wanted_take(void *arg, const struct atlock_event *event)
{
	struct wanted *wanted = arg;
	int len;

	if (event->seq != wanted->seq)
		return 0;
	len = snprintf(wanted->text, sizeof(wanted->text), "%ju:", (uintmax_t)event->seq);
	for (size_t i = 0; i < sizeof(event->hash); i++)
		len += snprintf(wanted->text + len, sizeof(wanted->text) - (size_t)len, "%02x", event->hash[i]);
	return 1;
}

/* "NUMBER:HASH" of an event. */
static struct wanted anchor_of(struct stage *s, uint64_t seq)
{
	struct wanted wanted = { .seq = seq };

	assert_int_equal(atlock_events(s->al, 0, wanted_take, &wanted), 0);
	assert_string_not_equal(wanted.text, "");
	return wanted;
}

static int first_take(void *arg, const struct atlock_event *event)
{
	*(uint64_t *)arg = event->seq;
	return 1;
}

static uint64_t first_event(struct stage *s)
{
	uint64_t first = 0;

	assert_int_equal(atlock_events(s->al, 0, first_take, &first), 0);
	return first;
}

static void begins_behind(struct stage *s, uint64_t seq, bool archived)
{
	struct atlock_anchor anchor;

	assert_int_equal(first_event(s), seq + 1);
	assert_int_equal(atlock_anchor(s->al, &anchor), 0);
	assert_int_equal(anchor.seq, seq);
	assert_int_equal(anchor.archived, archived);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
}

static void archived_events_are_gone_and_known(void **state)
{
	struct stage *s = *state;
	struct atlock_caller root = stage_caller("root@1");
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_anchor anchor;
	struct wanted fourth;

	some_events(s, 3);
	fourth = anchor_of(s, 4);
	assert_int_equal(atlock_anchor(s->al, &anchor), 1);
	assert_int_equal(atlock_archived(s->al, &alice, fourth.text, &s->why), -EPERM);
	assert_int_equal(atlock_archived(s->al, &root, fourth.text, &s->why), 0);
	begins_behind(s, 4, true);
	assert_int_equal(atlock_anchor(s->al, &anchor), 0);
	assert_string_equal(anchor.by, "root");
	assert_int_equal(atlock_archived(s->al, &root, fourth.text, &s->why), -EEXIST);
	stage_reopen(s);
	begins_behind(s, 4, true);
	some_events(s, 1);
	assert_int_equal(atlock_check(s->al, stderr), 0);
}

static void only_what_is_in_the_log_is_let_go(void **state)
{
	struct stage *s = *state;
	struct wanted third;

	some_events(s, 3);
	third = anchor_of(s, 3);
	third.text[5] = third.text[5] == '0' ? '1' : '0';
	assert_int_equal(atlock_archived(s->al, NULL, third.text, &s->why), -EINVAL);
	assert_non_null(strstr(s->why.text, "another hash"));
	third.text[0] = '9';
	assert_int_equal(atlock_archived(s->al, NULL, third.text, &s->why), -EINVAL);
	assert_int_equal(atlock_archived(s->al, NULL, "3", &s->why), -EINVAL);
	assert_int_equal(atlock_archived(s->al, NULL, "", &s->why), -EINVAL);
	assert_int_equal(first_event(s), 1);
}

static void whole_days_go_with_their_files(void **state)
{
	struct stage *s = *state;
	struct atlock_day day;

	some_events(s, 3);
	stage_advance(s, DAY);
	some_events(s, 3);
	assert_int_equal(atlock_archived(s->al, NULL, anchor_of(s, 7).text, &s->why), 0);
	begins_behind(s, 7, true);
	assert_int_equal(atlock_day_get(s->al, "2027-01-15.jsonl", &day), 1);
	assert_int_equal(atlock_day_get(s->al, "2027-01-16.jsonl", &day), 0);
}

static void what_is_archived_takes_no_room(void **state)
{
	struct stage *s = *state;
	struct atlock_status before;
	struct atlock_status after;

	some_events(s, 50);
	assert_int_equal(atlock_status(s->al, &before), 0);
	assert_int_equal(atlock_archived(s->al, NULL, anchor_of(s, 101).text, &s->why), 0);
	assert_int_equal(atlock_status(s->al, &after), 0);
	assert_true(after.events_used < before.events_used / 10);
	assert_int_equal(after.events, before.events + 1);
}

/* A day that is pruned leaves an anchor as well; of the two, the later counts. */
static void pruned_days_leave_an_anchor(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "events_keep", "1d");
	some_events(s, 2);
	assert_int_equal(atlock_archived(s->al, NULL, anchor_of(s, 2).text, &s->why), 0);
	stage_advance(s, 3 * DAY);
	some_events(s, 1);
	assert_true(atlock_run_prune(s->al) > 0);
	begins_behind(s, 7, false);
}

/* Removes one event behind the manager's back, as older versions did to make room. */
static int event_lose(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_event(0, *(const uint64_t *)arg);

	return store_del(txn, record_key_slice(&key));
}

static void log_without_its_beginning_is_cut(void **state)
{
	struct stage *s = *state;
	struct atlock_anchor anchor;
	uint64_t bad = 0;

	some_events(s, 3);
	for (uint64_t seq = 1; seq <= 2; seq++)
		assert_int_equal(stage_tamper(s, event_lose, &seq), 0);
	assert_int_equal(atlock_anchor(s->al, &anchor), 1);
	assert_int_equal(atlock_events_verify(s->al, &bad, &s->why), 1);
	assert_int_equal(bad, 3);
	/* Behind an anchor, too. */
	assert_int_equal(atlock_archived(s->al, NULL, anchor_of(s, 4).text, &s->why), 0);
	begins_behind(s, 4, true);
	bad = 5;
	assert_int_equal(stage_tamper(s, event_lose, &bad), 0);
	assert_int_equal(atlock_events_verify(s->al, &bad, &s->why), 1);
	assert_int_equal(bad, 6);
	s->damaged = true;
}

static int anchor_lose(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_anchor(0);

	(void)arg;
	return store_del(txn, record_key_slice(&key));
}

/* Older versions dropped whole days and wrote down nothing. */
static void days_that_an_older_version_dropped_are_no_cut(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "events_keep", "1d");
	some_events(s, 2);
	stage_advance(s, 3 * DAY);
	some_events(s, 1);
	assert_true(atlock_run_prune(s->al) > 0);
	assert_int_equal(stage_tamper(s, anchor_lose, NULL), 0);
	begins_behind(s, first_event(s) - 1, false);
}

/* The first transaction is made and the events are not removed yet. */
static void interrupted_archive_is_finished_by_the_next_prune(void **state)
{
	struct stage *s = *state;
	struct wanted third;

	some_events(s, 3);
	third = anchor_of(s, 3);
	*mem_world_faults(s->world) = (struct mem_faults){ .rerun_percent = 100, .fail_in = 2, .fail_error = EIO };
	assert_int_equal(atlock_archived(s->al, NULL, third.text, &s->why), -EIO);
	assert_int_equal(first_event(s), 1);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	assert_int_equal(atlock_run_prune(s->al), 3);
	begins_behind(s, 3, true);
}

/* A tail as older versions wrote it has neither sum. */
static int sums_lose(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_tail(0);
	unsigned char bytes[RECORD_MAX];
	struct record_tail tail;
	struct slice value;
	int rc = store_get(txn, record_key_slice(&key), &value);

	(void)arg;
	if (rc == 0)
		rc = record_decode(RECORD_TAIL, value, &tail);
	tail.owed = tail.events = 0;
	if (rc == 0)
		rc = record_encode(RECORD_TAIL, &tail, bytes);
	return rc < 0 ? rc : store_put(txn, record_key_slice(&key), (struct slice){ bytes, (size_t)rc });
}

static void store_of_an_older_version_is_counted_when_opened(void **state)
{
	struct stage *s = *state;
	struct atlock_status status;

	some_events(s, 3);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	stage_close(s);
	assert_int_equal(stage_tamper(s, sums_lose, NULL), 0);
	stage_open(s);
	assert_int_equal(atlock_status(s->al, &status), 0);
	assert_true(status.events_used > 1000);
	assert_int_equal(atlock_check(s->al, stderr), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(archived_events_are_gone_and_known),
		STAGED(only_what_is_in_the_log_is_let_go),
		STAGED(whole_days_go_with_their_files),
		STAGED(what_is_archived_takes_no_room),
		STAGED(pruned_days_leave_an_anchor),
		STAGED(log_without_its_beginning_is_cut),
		STAGED(days_that_an_older_version_dropped_are_no_cut),
		STAGED(interrupted_archive_is_finished_by_the_next_prune),
		STAGED(store_of_an_older_version_is_counted_when_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
