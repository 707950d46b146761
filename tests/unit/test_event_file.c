/*
 * The event log as files: one a day, with lines that stay where they are, whatever the clock does and however they are read.
 */
#include "event_line.h"
#include "event_log.h"
#include "stage.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

#define LOCK "global/a"
#define DAY INT64_C(86400)
#define TODAY "2027-01-15.jsonl" /* when the stage's clock starts, at 08:00 */
#define TOMORROW "2027-01-16.jsonl"
#define FILE_MAX 65536

struct text {
	char data[FILE_MAX];
	size_t len;
};

/* The whole file by reads of `step` bytes; it must be as long as it says. */
static void file_read(struct stage *s, const char *name, size_t step, struct text *out)
{
	struct atlock_day day;
	ssize_t n;

	out->len = 0;
	while ((n = atlock_day_read(s->al, NULL, name, out->len, out->data + out->len, step)) > 0) {
		out->len += (size_t)n;
		assert_true(out->len + step < sizeof(out->data));
	}
	assert_int_equal(n, 0);
	out->data[out->len] = '\0';
	assert_int_equal(atlock_day_get(s->al, name, &day), 0);
	assert_int_equal(day.size, out->len);
	assert_string_equal(day.name, name);
}

static int line_add(void *arg, const struct atlock_event *event)
{
	struct text *out = arg;
	int n = snprintf(out->data + out->len, sizeof(out->data) - out->len, "%s\n", event->line);

	assert_int_equal(n, event->line_len + 1);
	out->len += (size_t)n;
	return 0;
}

static void some_events(struct stage *s, int n)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
		assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	}
}

static int day_add(void *arg, const struct atlock_day *day)
{
	char *out = arg;
	size_t used = strlen(out);

	(void)snprintf(out + used, 256 - used, "%s%.10s", used > 0 ? " " : "", day->name);
	return 0;
}

/* The days there are: "2027-01-15 2027-01-16". */
static void days_are(struct stage *s, const char *expected)
{
	char got[256] = "";

	assert_int_equal(atlock_days(s->al, NULL, day_add, got), 0);
	assert_string_equal(got, expected);
}

static struct text text, other;

static void file_has_every_event_of_its_day(void **state)
{
	struct stage *s = *state;

	some_events(s, 10);
	file_read(s, TODAY, 4096, &text);
	other.len = 0;
	assert_int_equal(atlock_events(s->al, 0, line_add, &other), 0);
	assert_string_equal(text.data, other.data);
}

static void any_offset_can_be_read(void **state)
{
	struct stage *s = *state;
	char part[700];

	some_events(s, 5);
	file_read(s, TODAY, 1, &text);
	file_read(s, TODAY, 1000, &other);
	assert_string_equal(text.data, other.data);
	for (size_t at = 0; at <= text.len; at++) {
		size_t expected = text.len - at < sizeof(part) ? text.len - at : sizeof(part);

		assert_int_equal(atlock_day_read(s->al, NULL, TODAY, at, part, sizeof(part)), expected);
		assert_memory_equal(part, text.data + at, expected);
	}
	assert_int_equal(atlock_day_read(s->al, NULL, TODAY, UINT64_MAX, part, sizeof(part)), 0);
	assert_int_equal(atlock_day_read(s->al, NULL, "2027-01-15", 0, part, sizeof(part)), -ENOENT);
	assert_int_equal(atlock_day_read(s->al, NULL, "2027-02-30.jsonl", 0, part, sizeof(part)), -ENOENT);
}

/* What was read stays, byte by byte, over changes, days, restarts. */
static void lines_stay_where_they_are(void **state)
{
	struct stage *s = *state;
	size_t before;

	some_events(s, 3);
	file_read(s, TODAY, 1000, &text);
	before = text.len;
	some_events(s, 3);
	stage_reopen(s);
	stage_advance(s, DAY);
	some_events(s, 3);
	file_read(s, TODAY, 1000, &other);
	assert_true(other.len > before);
	assert_memory_equal(text.data, other.data, before);
}

static void midnight_begins_a_file(void **state)
{
	struct stage *s = *state;
	struct atlock_day day;
	char live[ATLOCK_DAY_NAME];

	some_events(s, 1);
	days_are(s, "2027-01-15");
	stage_advance_ns(s, DAY * ATLOCK_SECOND - s->time.wall % (DAY * ATLOCK_SECOND) - 1);
	atlock_day_live(s->al, live);
	assert_string_equal(live, TODAY);
	assert_int_equal(atlock_day_get(s->al, TOMORROW, &day), 1);
	some_events(s, 1);
	stage_advance_ns(s, 1);
	/* It is there before anything happens, for whoever follows `live`. */
	atlock_day_live(s->al, live);
	assert_string_equal(live, TOMORROW);
	days_are(s, "2027-01-15 2027-01-16");
	assert_int_equal(atlock_day_get(s->al, TOMORROW, &day), 0);
	assert_int_equal(day.size, 0);
	some_events(s, 1);
	file_read(s, TOMORROW, 1000, &text);
	assert_int_equal(strncmp(text.data, "{\"seq\":6,\"time\":\"2027-01-16T00:00:00.000Z\",", 43), 0);
	assert_int_equal(atlock_day_get(s->al, TOMORROW, &day), 0);
	assert_int_equal(day.changed, s->time.wall);
}

/* An event is in the file of the day that the clock showed, also when that day comes again. */
static void clock_set_back_goes_on_with_the_earlier_day(void **state)
{
	struct stage *s = *state;
	size_t before;

	some_events(s, 2);
	file_read(s, TODAY, 1000, &text);
	before = text.len;
	stage_set_wall(s, 100 * DAY);
	some_events(s, 2);
	stage_set_wall(s, -100 * DAY);
	some_events(s, 2);
	days_are(s, "2027-01-15 2027-04-25");
	file_read(s, TODAY, 100, &other);
	assert_memory_equal(text.data, other.data, before);
	assert_non_null(strstr(other.data, "{\"seq\":5,"));
	assert_null(strstr(other.data, "{\"seq\":6,"));
	assert_null(strstr(other.data, "{\"seq\":9,"));
	assert_non_null(strstr(other.data, "{\"seq\":10,"));
	file_read(s, "2027-04-25.jsonl", 100, &other);
	assert_int_equal(strncmp(other.data, "{\"seq\":6,", 9), 0);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	stage_reopen(s);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
}

/* A clock that was wrong once does not keep the log from being pruned. */
static void day_of_the_future_is_pruned_with_its_neighbours(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "events_keep", "2d");
	some_events(s, 1);
	stage_set_wall(s, 1000 * DAY);
	some_events(s, 1);
	stage_set_wall(s, -1000 * DAY);
	some_events(s, 1);
	stage_advance(s, DAY);
	some_events(s, 1);
	assert_int_equal(atlock_run_prune(s->al), 0);
	stage_advance(s, 2 * DAY);
	some_events(s, 1);
	assert_int_equal(atlock_run_prune(s->al), 8);
	days_are(s, "2027-01-16 2027-01-18");
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
}

static void pruned_day_is_gone_as_a_whole(void **state)
{
	struct stage *s = *state;
	struct atlock_day day;
	char byte;

	stage_configure(s, "events_keep", "1d");
	some_events(s, 600);
	stage_advance(s, 2 * DAY);
	some_events(s, 1);
	days_are(s, "2027-01-15 2027-01-17");
	assert_int_equal(atlock_run_prune(s->al), 1202);
	days_are(s, "2027-01-17");
	assert_int_equal(atlock_day_get(s->al, TODAY, &day), 1);
	assert_int_equal(atlock_day_read(s->al, NULL, TODAY, 0, &byte, 1), 0);
	file_read(s, "2027-01-17.jsonl", 1000, &text);
	assert_int_equal(strncmp(text.data, "{\"seq\":1203,", 12), 0);
}

/* A crash between hiding a day and removing its events leaves events that nobody sees, and the next time they go. */
static void interrupted_prune_is_finished_later(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "events_keep", "1d");
	some_events(s, 600);
	stage_advance(s, 2 * DAY);
	some_events(s, 1);
	*mem_world_faults(s->world) = (struct mem_faults){ .rerun_percent = 100, .fail_in = 2, .fail_error = EIO };
	assert_int_equal(atlock_run_prune(s->al), -EIO);
	days_are(s, "2027-01-17");
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	assert_int_equal(atlock_run_prune(s->al), 1202);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
}

static int remove_first(struct store_txn *txn, void *arg)
{
	const uint64_t *seq = arg;
	struct record_key key = record_key_event(0, *seq);

	return store_del(txn, record_key_slice(&key));
}

/*
 * On a full store older versions dropped the oldest events. The others do not move, what is gone is one line, and the log is reported as
 * cut there.
 */
static void events_that_made_room_are_one_line_and_missed(void **state)
{
	struct stage *s = *state;
	uint64_t bad = 0;
	size_t gone;

	some_events(s, 3);
	file_read(s, TODAY, 1000, &text);
	for (uint64_t seq = 1; seq <= 3; seq++)
		assert_int_equal(stage_tamper(s, remove_first, &seq), 0);
	gone = (size_t)(strstr(text.data, "{\"seq\":4,") - text.data);
	for (size_t step = 1; step < 3000; step += 997) {
		file_read(s, TODAY, step, &other);
		assert_int_equal(strncmp(other.data, "{\"gone\":\"", 9), 0);
		assert_int_equal(strcspn(other.data, "\n"), gone - 1);
		assert_string_equal(other.data + gone, text.data + gone);
	}
	assert_int_equal(atlock_events_verify(s->al, &bad, &s->why), 1);
	assert_int_equal(bad, 4);
	assert_non_null(strstr(s->why.text, "cut in front of event 4"));
	s->damaged = true;
}

/* Every line is JSON, says all that there is to say, and its hash is that of what stands before it. */
static void line_says_who_did_what(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@build-17");
	struct atlock_caller caller = *req->caller;
	unsigned char hash[SHA256_BYTES];
	char hex[65];

	caller.session = 99;
	(void)strlcpy(caller.comm, "we\"ird\n\xff", sizeof(caller.comm));
	req->caller = &caller;
	req->ttl = 90 * 60 * ATLOCK_SECOND;
	assert_int_equal(atlock_acquire(s->al, req, &s->grant, &s->why), 0);
	stage_advance(s, 5);
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 0);
	file_read(s, TODAY, 1000, &text);
	char *line = strstr(text.data, "{\"seq\":3,");
	assert_non_null(line);
	line[strcspn(line, "\n")] = '\0';
	json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	const char *type, *lock, *owner, *who, *actor, *comm, *host, *id, *acquired, *expires, *ttl, *priority,
		*printed;
	json_int_t seq, token, uid, pid, session, version;
	assert_int_equal(json_unpack(json,
				     "{s:I,s:s,s:s,s:s,s:s,s:I,s:s,s:I,s:I,s:s,s:I,s:s,s:s,"
				     "s:{s:s,s:s,s:s,s:s,s:s,s:I}}",
				     "seq", &seq, "type", &type, "lock", &lock, "owner", &owner, "who", &who, "token",
				     &token, "actor", &actor, "uid", &uid, "pid", &pid, "comm", &comm, "session",
				     &session, "host", &host, "hash", &printed, "record", "id", &id, "acquired_at",
				     &acquired, "expires_at", &expires, "ttl", &ttl, "priority", &priority, "version",
				     &version),
			 0);
	assert_int_equal(seq, 3);
	assert_string_equal(type, "released");
	assert_string_equal(lock, LOCK);
	assert_string_equal(owner, "alice");
	assert_string_equal(who, "build-17");
	assert_int_equal(token, s->grant.token);
	assert_string_equal(actor, "alice");
	assert_int_equal(uid, 1000);
	assert_int_equal(pid, 4711);
	assert_string_equal(comm, "we\"ird\n%FF");
	assert_int_equal(session, 99);
	assert_string_equal(host, "host");
	assert_int_equal(strncmp(id, "lock_1800000000000000000_alice_", 31), 0);
	assert_string_equal(acquired, "2027-01-15T08:00:00.000Z");
	assert_string_equal(expires, "2027-01-15T09:30:00.000Z");
	assert_string_equal(ttl, "90m");
	assert_string_equal(priority, "normal");
	assert_int_equal(version, 1);
	sha256(line, (size_t)(strstr(line, ",\"hash\":") - line), hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", hash[i]);
	assert_string_equal(printed, hex);
	json_decref(json);
}

static void line_says_what_changed(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req;
	uint64_t ticket;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@2"), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@3", ATLOCK_LOW, &ticket), 0);
	req = stage_ask(s, LOCK, "carol@3");
	req->priority = ATLOCK_HIGH;
	assert_int_equal(atlock_reprioritise(s->al, req, ticket, &s->why), 0);
	stage_configure(s, "max_ttl", "3h");
	file_read(s, TODAY, 1000, &text);
	assert_non_null(
		strstr(text.data, "\"type\":\"transferred\",\"lock\":\"global/a\",\"owner\":\"bob\",\"who\":\"2\""));
	assert_non_null(strstr(text.data, ",\"old\":\"alice@1\","));
	assert_non_null(strstr(text.data, "\"type\":\"queued\""));
	assert_non_null(strstr(text.data, ",\"new\":\"low\","));
	assert_non_null(strstr(text.data, ",\"old\":\"low\",\"new\":\"high\","));
	assert_non_null(strstr(
		text.data, "\"type\":\"configured\",\"subject\":\"config/max_ttl\",\"old\":\"2h\",\"new\":\"3h\","));
}

/* Nothing of what users write about their locks is in the log. */
static void line_has_no_metadata(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "password=swordfish\nreason=swordfish\n"), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	file_read(s, TODAY, 1000, &text);
	assert_null(strstr(text.data, "swordfish"));
}

/* --- What is done to the store behind the manager's back --- */

static void chain_is_broken(struct stage *s, uint64_t at)
{
	uint64_t bad = 0;

	s->damaged = true;
	assert_int_equal(atlock_events_verify(s->al, &bad, &s->why), -EBADMSG);
	assert_int_equal(bad, at);
}

static int segment_remove(struct store_txn *txn, void *arg)
{
	const uint64_t *first = arg;
	struct record_key key = record_key_segment(0, 20834, *first);

	return store_del(txn, record_key_slice(&key));
}

/* A day that was taken out of the list, not the first. */
static void hidden_day_is_found(void **state)
{
	struct stage *s = *state;
	uint64_t first = 4;

	some_events(s, 1);
	stage_advance(s, DAY);
	some_events(s, 1);
	stage_advance(s, DAY);
	some_events(s, 1);
	assert_int_equal(stage_tamper(s, segment_remove, &first), 0);
	chain_is_broken(s, 4);
}

static int segment_shift(struct store_txn *txn, void *arg)
{
	struct record_key key = record_key_segment(0, 20833, 1);
	struct record_day day = { .offset = 1 };
	unsigned char bytes[RECORD_MAX];
	int len = record_encode(RECORD_DAY, &day, bytes);

	(void)arg;
	return store_put(txn, record_key_slice(&key), (struct slice){ bytes, (size_t)len });
}

static void moved_lines_are_found(void **state)
{
	struct stage *s = *state;

	some_events(s, 1);
	assert_int_equal(stage_tamper(s, segment_shift, NULL), 0);
	chain_is_broken(s, 1);
}

static int configured_as_before(struct op *op)
{
	return event_configured(op, "on_event", op->arg, "");
}

static bool may_all(void *arg, uint64_t dir)
{
	(void)arg, (void)dir;
	return true;
}

/* Events of earlier versions have the command of on_event, which only administrators may read. */
static void old_command_is_hidden(void **state)
{
	const struct atlock_reader user = { .user = "mallory", .may = may_all };
	const char *const commands[] = { "send --password PASSWORD", "hidden" };
	struct stage *s = *state;
	struct op op;
	ssize_t n;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		op_init(&op, s->al, NULL, NULL);
		op.arg = (void *)commands[i];
		assert_int_equal(op_run(&op, configured_as_before), 0);
	}
	file_read(s, TODAY, 4096, &text);
	assert_non_null(strstr(text.data, "PASSWORD"));
	n = atlock_day_read(s->al, &user, TODAY, 0, other.data, sizeof(other.data) - 1);
	assert_int_equal(n, text.len);
	other.data[n] = '\0';
	assert_null(strstr(other.data, "PASSWORD"));
	assert_non_null(strstr(other.data, EVENT_LINE_HIDDEN));
	assert_non_null(strstr(other.data, "\"old\":\"hidden\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(file_has_every_event_of_its_day),
		STAGED(any_offset_can_be_read),
		STAGED(lines_stay_where_they_are),
		STAGED(midnight_begins_a_file),
		STAGED(clock_set_back_goes_on_with_the_earlier_day),
		STAGED(day_of_the_future_is_pruned_with_its_neighbours),
		STAGED(pruned_day_is_gone_as_a_whole),
		STAGED(interrupted_prune_is_finished_later),
		STAGED(events_that_made_room_are_one_line_and_missed),
		STAGED(line_says_who_did_what),
		STAGED(line_says_what_changed),
		STAGED(line_has_no_metadata),
		STAGED(old_command_is_hidden),
		STAGED(hidden_day_is_found),
		STAGED(moved_lines_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
