/*
 * Events: every change writes what happened, in its own transaction, and nobody rewrites history unseen.
 */
#include "record.h"
#include "stage.h"

#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>
#include <cmocka.h>

#define LOCK "global/a"

/* --- What is written --- */

struct log {
	uint64_t next; /* sequence number expected */
	uint64_t left; /* how many to read; 0: all */
	int64_t wall;
	char text[4096];
};

/* "granted(CODE) lock owner@who by actor", a line for each. */
static int log_add(void *arg, const struct atlock_event *event)
{
	struct log *log = arg;
	size_t used = strlen(log->text);

	assert_int_equal(event->seq, log->next);
	assert_true(event->wall >= log->wall);
	log->next++;
	log->wall = event->wall;
	(void)snprintf(log->text + used, sizeof(log->text) - used, "%s(%s) %s %s@%s by %s\n",
		       atlock_event_name(event->type), atlock_code_name(event->code), event->lock, event->owner,
		       event->who, event->actor);
	return log->left > 0 && --log->left == 0;
}

/* What was logged since stage_events() was asked last. */
static void log_is(struct stage *s, const char *expected)
{
	struct log log = { .next = s->seen + 1 };

	assert_int_equal(atlock_events(s->al, s->seen + 1, log_add, &log), 0);
	assert_string_equal(log.text, expected);
	(void)stage_events(s);
}

static void changes_of_a_lock_are_logged(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK "@1", "root@admin");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=1\n"), 0);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@2"), 0);
	assert_int_equal(stage_release(s, LOCK, "bob@2"), 0);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 0);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	log_is(s, "acquired(OK) global/a alice@1 by alice\n"
		  "renewed(OK) global/a alice@1 by alice\n"
		  "changed(OK) global/a alice@1 by alice\n"
		  "transferred(OK) global/a bob@2 by alice\n"
		  "released(OK) global/a bob@2 by bob\n"
		  "acquired(OK) global/a alice@1 by alice\n"
		  "forced(OK) global/a alice@1 by root\n"
		  "acquired(OK) global/a alice@1 by alice\n"
		  "expired(OK) global/a alice@1 by \n");
}

static void changes_of_a_queue_are_logged(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "bob@1");
	uint64_t ticket;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, &ticket), 0);
	req->priority = ATLOCK_HIGH;
	assert_int_equal(atlock_reprioritise(s->al, req, ticket, &s->why), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_NORMAL, &ticket), 0);
	assert_int_equal(atlock_cancel(s->al, stage_ask(s, LOCK, "carol@1"), ticket, &s->why), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(atlock_claim(s->al, stage_ask(s, LOCK, "bob@1"), &s->why), 0);
	log_is(s, "acquired(OK) global/a alice@1 by alice\n"
		  "queued(OK) global/a bob@1 by bob\n"
		  "reprioritised(OK) global/a bob@1 by bob\n"
		  "queued(OK) global/a carol@1 by carol\n"
		  "cancelled(CANCELLED) global/a carol@1 by carol\n"
		  "released(OK) global/a alice@1 by alice\n"
		  "granted(OK) global/a bob@1 by alice\n"
		  "claimed(OK) global/a bob@1 by bob\n");
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_NORMAL, NULL), 0);
	stage_advance(s, 601);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	log_is(s, "queued(OK) global/a carol@1 by carol\n"
		  "timed_out(TIMEOUT) global/a carol@1 by \n"
		  "queued(OK) global/a carol@1 by carol\n"
		  "released(OK) global/a bob@1 by bob\n"
		  "granted(OK) global/a carol@1 by bob\n"
		  "unclaimed(OK) global/a carol@1 by \n");
}

static void what_is_no_lock_is_logged_too(void **state)
{
	const struct passwd *self = getpwuid(geteuid());
	struct stage *s = *state;
	char expected[512];

	assert_non_null(self);
	stage_configure(s, "max_ttl", "3h");
	stage_reopen(s);
	(void)snprintf(expected, sizeof(expected),
		       "configured(OK) config/max_ttl @ by \n"
		       "closed(OK)  @ by %s\n"
		       "opened(OK)  @ by %s\n",
		       self->pw_name, self->pw_name);
	log_is(s, expected);
}

static int token_keep(void *arg, const struct atlock_event *event)
{
	struct atlock_event *last = arg;

	*last = *event;
	return 0;
}

static void event_has_token_ticket_and_caller(void **state)
{
	struct stage *s = *state;
	struct atlock_event last;
	uint64_t ticket;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, &ticket), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(atlock_events(s->al, 0, token_keep, &last), 0);
	assert_int_equal(last.type, ATLOCK_EVENT_GRANTED);
	assert_int_equal(last.token, view.token);
	assert_int_equal(last.ticket, ticket);
	assert_int_equal(last.actor_uid, 1000);
	assert_int_equal(last.actor_pid, 4711);
	assert_int_equal(last.wall, s->time.wall);
	atlock_view_clear(&view);
}

static void refused_or_failed_change_leaves_no_event(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	(void)stage_events(s);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), -EACCES);
	*mem_world_faults(s->world) = (struct mem_faults){ .fail_in = 1, .fail_error = EIO };
	assert_int_equal(stage_release(s, LOCK, "alice@1"), -EIO);
	assert_string_equal(stage_events(s), "");
}

static void reading_events_stops_when_told(void **state)
{
	struct stage *s = *state;
	struct log log = { .next = s->seen + 1, .left = 1 };

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(atlock_events(s->al, s->seen + 1, log_add, &log), 0);
	assert_string_equal(log.text, "acquired(OK) global/a alice@1 by alice\n");
}

/* Each name is one, and none is missing. */
static void every_type_of_event_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < ATLOCK_EVENTS; i++) {
		const char *name = atlock_event_name((enum atlock_event_type)i);

		assert_non_null(name);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(name, atlock_event_name((enum atlock_event_type)k));
	}
	assert_string_equal(atlock_event_name(ATLOCK_EVENTS), "unknown");
}

/* --- The chain --- */

/* Writes some history: nine events after the one of opening. */
static void history(struct stage *s)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
		assert_int_equal(stage_renew(s, LOCK, "alice@1", 60), 0);
		assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	}
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	s->damaged = true;
}

/* The first bad event must be one of two: what is changed, or the next, whose hash does not fit any more. */
static void chain_is_broken_at(struct stage *s, uint64_t first, uint64_t last)
{
	uint64_t bad = 0;

	assert_int_equal(atlock_events_verify(s->al, &bad, &s->why), -EBADMSG);
	assert_in_range(bad, first, last);
	assert_int_equal(s->why.code, ATLOCK_BACKEND_ERROR);
}

struct tamper {
	uint64_t seq;
	uint64_t other;
};

static int get_copy(struct store_txn *txn, uint64_t seq, unsigned char out[RECORD_MAX], size_t *len)
{
	struct record_key key = record_key_event(0, seq);
	struct slice value;
	int rc = store_get(txn, record_key_slice(&key), &value);

	if (rc != 0)
		return rc < 0 ? rc : -ENOENT;
	memcpy(out, value.data, value.len);
	*len = value.len;
	return 0;
}

static int put_copy(struct store_txn *txn, uint64_t seq, const unsigned char *bytes, size_t len)
{
	struct record_key key = record_key_event(0, seq);

	return store_put(txn, record_key_slice(&key), (struct slice){ bytes, len });
}

/* Somebody who knows the format changes who it was. */
static int edit_well(struct store_txn *txn, void *arg)
{
	const struct tamper *tamper = arg;
	unsigned char bytes[RECORD_MAX];
	unsigned char again[RECORD_MAX];
	struct record_event event;
	size_t len;
	int rc = get_copy(txn, tamper->seq, bytes, &len);

	if (rc == 0)
		rc = record_decode(RECORD_EVENT, (struct slice){ bytes, len }, &event);
	if (rc < 0)
		return rc;
	event.actor = slice_of("mallory");
	rc = record_encode(RECORD_EVENT, &event, again);
	return rc < 0 ? rc : put_copy(txn, tamper->seq, again, (size_t)rc);
}

/* A bit that a disk lost. */
static int edit_badly(struct store_txn *txn, void *arg)
{
	const struct tamper *tamper = arg;
	unsigned char bytes[RECORD_MAX];
	size_t len;
	int rc = get_copy(txn, tamper->seq, bytes, &len);

	if (rc < 0)
		return rc;
	bytes[len / 2] ^= 1;
	return put_copy(txn, tamper->seq, bytes, len);
}

static int delete (struct store_txn *txn, void *arg)
{
	const struct tamper *tamper = arg;
	struct record_key key = record_key_event(0, tamper->seq);

	return store_del(txn, record_key_slice(&key));
}

static int swap(struct store_txn *txn, void *arg)
{
	const struct tamper *tamper = arg;
	unsigned char first[RECORD_MAX];
	unsigned char second[RECORD_MAX];
	size_t first_len;
	size_t second_len;
	int rc = get_copy(txn, tamper->seq, first, &first_len);

	if (rc == 0)
		rc = get_copy(txn, tamper->other, second, &second_len);
	if (rc == 0)
		rc = put_copy(txn, tamper->seq, second, second_len);
	return rc == 0 ? put_copy(txn, tamper->other, first, first_len) : rc;
}

/* A copy of an event added at the end. */
static int append(struct store_txn *txn, void *arg)
{
	const struct tamper *tamper = arg;
	unsigned char bytes[RECORD_MAX];
	size_t len;
	int rc = get_copy(txn, tamper->seq, bytes, &len);

	return rc == 0 ? put_copy(txn, tamper->other, bytes, len) : rc;
}

static void edited_event_is_found(void **state)
{
	struct stage *s = *state;

	history(s);
	assert_int_equal(stage_tamper(s, edit_well, &(struct tamper){ .seq = 5 }), 0);
	chain_is_broken_at(s, 5, 6);
}

static void edited_last_event_is_found(void **state)
{
	struct stage *s = *state;

	history(s);
	assert_int_equal(stage_tamper(s, edit_well, &(struct tamper){ .seq = 10 }), 0);
	chain_is_broken_at(s, 10, 11);
}

static void damaged_event_is_found(void **state)
{
	struct stage *s = *state;

	history(s);
	assert_int_equal(stage_tamper(s, edit_badly, &(struct tamper){ .seq = 5 }), 0);
	chain_is_broken_at(s, 5, 5);
	assert_int_equal(atlock_events(s->al, 1, token_keep, &(struct atlock_event){ .seq = 0 }), -EIO);
}

static void damaged_first_event_is_found(void **state)
{
	struct stage *s = *state;

	history(s);
	assert_int_equal(stage_tamper(s, edit_badly, &(struct tamper){ .seq = 1 }), 0);
	chain_is_broken_at(s, 1, 1);
}

static void deleted_event_is_found(void **state)
{
	struct stage *s = *state;

	history(s);
	assert_int_equal(stage_tamper(s, delete, &(struct tamper){ .seq = 5 }), 0);
	chain_is_broken_at(s, 5, 5);
}

static void swapped_events_are_found(void **state)
{
	struct stage *s = *state;

	history(s);
	assert_int_equal(stage_tamper(s, swap, &(struct tamper){ .seq = 5, .other = 8 }), 0);
	chain_is_broken_at(s, 5, 5);
}

static void cut_off_end_is_found(void **state)
{
	struct stage *s = *state;

	history(s);
	for (uint64_t seq = 10; seq > 8; seq--)
		assert_int_equal(stage_tamper(s, delete, &(struct tamper){ .seq = seq }), 0);
	chain_is_broken_at(s, 9, 9);
}

static void cut_off_history_is_found(void **state)
{
	struct stage *s = *state;

	history(s);
	for (uint64_t seq = 1; seq <= 10; seq++)
		assert_int_equal(stage_tamper(s, delete, &(struct tamper){ .seq = seq }), 0);
	chain_is_broken_at(s, 1, 10);
}

static void added_event_is_found(void **state)
{
	struct stage *s = *state;

	history(s);
	assert_int_equal(stage_tamper(s, append, &(struct tamper){ .seq = 5, .other = 11 }), 0);
	chain_is_broken_at(s, 11, 11);
}

static void chain_goes_on_over_restarts(void **state)
{
	struct stage *s = *state;

	for (int i = 0; i < 5; i++) {
		assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
		if (i % 2 == 0)
			mem_world_faults(s->world)->crash_in = 1;
		(void)stage_release(s, LOCK, "alice@1");
		stage_reopen(s);
		(void)stage_release(s, LOCK, "alice@1");
		assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	}
}

/* Days go as a whole, once the last moment of them is past. */
static void days_past_events_keep_are_forgotten(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "events_keep", "1d");
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	stage_advance(s, 86400);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), 0);
	assert_int_equal(atlock_run_prune(s->al), 0);
	stage_advance_ns(s, 86400 * ATLOCK_SECOND - s->time.wall % (86400 * ATLOCK_SECOND) - 1);
	assert_int_equal(atlock_run_prune(s->al), 0);
	(void)stage_events(s);
	stage_advance_ns(s, 1);
	/* What was there when the stage was set, the option, acquired and released. */
	assert_int_equal(atlock_run_prune(s->al), 4);
	assert_int_equal(atlock_run_prune(s->al), 0);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	stage_advance(s, 86400 * 9);
	/* The day that the chain ends with stays, however old. */
	assert_int_equal(atlock_run_prune(s->al), 0);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(changes_of_a_lock_are_logged),
		STAGED(changes_of_a_queue_are_logged),
		STAGED(what_is_no_lock_is_logged_too),
		STAGED(event_has_token_ticket_and_caller),
		STAGED(refused_or_failed_change_leaves_no_event),
		STAGED(reading_events_stops_when_told),
		STAGED(every_type_of_event_has_a_name),
		STAGED(edited_event_is_found),
		STAGED(edited_last_event_is_found),
		STAGED(damaged_event_is_found),
		STAGED(damaged_first_event_is_found),
		STAGED(deleted_event_is_found),
		STAGED(swapped_events_are_found),
		STAGED(cut_off_end_is_found),
		STAGED(cut_off_history_is_found),
		STAGED(added_event_is_found),
		STAGED(chain_goes_on_over_restarts),
		STAGED(days_past_events_keep_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
