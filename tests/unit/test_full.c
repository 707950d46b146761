/*
 * A store without room: what adds is refused with a clear text, what removes goes on, and afterwards everything works
 * again.
 */
#include "rounds.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MIB ((uint64_t)1024 * 1024)
#define MANY 100000
#define TEXT_MAX 64

static int setup(void **state)
{
	struct stage *s;

	(void)stage_setup_live(state);
	s = *state;
	stage_close(s);
	s->store_max_bytes = 2 * MIB;
	stage_open(s);
	stage_configure(s, "store_share", "100"); /* one user fills it */
	return 0;
}

static const char *lock_of(size_t i, char out[TEXT_MAX])
{
	(void)snprintf(out, TEXT_MAX, "repos/acme/infra/-/modules/%zu/-/w", i);
	return out;
}

/* Takes locks until one is refused; returns how many were taken. */
static size_t fill(struct stage *s)
{
	char lock[TEXT_MAX];
	size_t i = 0;
	int rc = 0;

	while (i < MANY && (rc = stage_acquire(s, lock_of(i, lock), "alice@1", 0)) == 0)
		i++;
	assert_int_equal(rc, -EDQUOT);
	assert_int_equal(s->why.code, ATLOCK_QUOTA);
	assert_non_null(strstr(s->why.text, "no room"));
	return i;
}

static int last_keep(void *arg, const struct atlock_event *event)
{
	struct atlock_event *last = arg;

	last->seq = event->seq;
	memcpy(last->hash, event->hash, sizeof(last->hash));
	return 0;
}

/* Takes what there is of the event log out of the store, as if it had been copied elsewhere. */
static void archive(struct stage *s)
{
	struct atlock_event last = { .seq = 0 };
	char anchor[96];
	size_t len;

	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	assert_int_equal(atlock_events(s->al, 0, last_keep, &last), 0);
	len = (size_t)snprintf(anchor, sizeof(anchor), "%ju:", (uintmax_t)last.seq);
	for (size_t i = 0; i < sizeof(last.hash); i++)
		len += (size_t)snprintf(anchor + len, sizeof(anchor) - len, "%02x", last.hash[i]);
	if (atlock_archived(s->al, NULL, anchor, &s->why) != 0)
		fail_msg("%s", s->why.text);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
}

static int event_count(void *arg, const struct atlock_event *event)
{
	uint64_t *count = arg;

	assert_int_equal(event->seq, ++*count);
	return 0;
}

/* Every event since the first is there: none made room for another. */
static void no_event_is_gone(struct stage *s)
{
	struct atlock_status status;
	uint64_t count = 0;

	assert_int_equal(atlock_events(s->al, 0, event_count, &count), 0);
	assert_int_equal(atlock_status(s->al, &status), 0);
	assert_int_equal(count, status.events);
}

static void releases_go_on_and_then_acquires_work_again(void **state)
{
	struct stage *s = *state;
	struct atlock_status status;
	char lock[TEXT_MAX];

	for (int round = 0; round < 1 + ROUNDS(2); round++) {
		size_t n = fill(s);

		assert_true(n > 100);
		assert_int_equal(atlock_status(s->al, &status), 0);
		assert_true(status.store_low);
		assert_int_equal(status.held, n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(stage_release(s, lock_of(i, lock), "alice@1"), 0);
		assert_int_equal(atlock_status(s->al, &status), 0);
		assert_int_equal(status.held, 0);
		if (round == 0)
			no_event_is_gone(s);
		archive(s);
		assert_int_equal(atlock_status(s->al, &status), 0);
		assert_false(status.store_low);
		assert_int_equal(atlock_check(s->al, stderr), 0);
	}
}

static void whatever_adds_is_refused_alike(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_grant grant;
	char lock[TEXT_MAX];

	(void)fill(s);
	assert_int_equal(stage_enqueue(s, lock_of(0, lock), "bob@1", ATLOCK_NORMAL, NULL), -EDQUOT);
	assert_int_equal(s->why.code, ATLOCK_QUOTA);
	assert_int_equal(stage_wait(s, lock_of(0, lock), "bob@1", ATLOCK_NORMAL, stage_told(s), NULL), -EDQUOT);
	assert_int_equal(stage_wait(s, "global/free", "bob@1", ATLOCK_NORMAL, stage_told(s), NULL), -EDQUOT);
	assert_int_equal(atlock_acquire_all(s->al, stage_ask(s, "global/free", "alice@1"), 1, &grant, NULL, &s->why),
			 -EDQUOT);
	assert_int_equal(atlock_dir_make(s->al, 0, "d", &alice, 0755, 0, NULL, &s->why), -EDQUOT);
	assert_string_equal(stage_holder(s, "global/free"), "free");
}

/* What one has can still be kept, and handed on. */
static void holders_go_on(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_wait(s, "global/a", "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	(void)fill(s);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 1);
	assert_int_equal(stage_renew(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_transfer(s, "global/a", "alice@1", "carol@1"), 0);
	assert_int_equal(stage_release(s, "global/a", "carol@1"), 0);
	assert_int_equal(told_await(told), 0);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1");
}

/* What only makes events is refused before the room for the ends of locks is gone; renewals go on, in the end without an event. */
static void changes_leave_the_room_for_releases(void **state)
{
	struct stage *s = *state;
	struct atlock_status before;
	struct atlock_status after;
	char lock[TEXT_MAX];
	size_t n = fill(s);
	int i = 0;
	int rc = 0;

	while (i < MANY &&
	       (rc = stage_write(s, lock_of(0, lock), "alice@1", i % 2 ? "priority=low\n" : "priority=high\n")) == 0)
		i++;
	assert_int_equal(rc, -EDQUOT);
	assert_non_null(strstr(s->why.text, "atlock audit archive --before now FILE"));
	assert_int_equal(atlock_status(s->al, &before), 0);
	for (i = 0; i < 100; i++)
		assert_int_equal(stage_renew(s, lock_of(0, lock), "alice@1", 0), 0);
	assert_int_equal(atlock_status(s->al, &after), 0);
	assert_int_equal(after.events, before.events);
	for (size_t k = 0; k < n; k++)
		assert_int_equal(stage_release(s, lock_of(k, lock), "alice@1"), 0);
	no_event_is_gone(s);
}

/* A text that grows would take what is left for releasing; one that does not may change. */
static void texts_do_not_grow(void **state)
{
	struct stage *s = *state;
	char lock[TEXT_MAX];
	char text[8 * 1024];

	memset(text, 'x', sizeof(text));
	memcpy(text, "a=", 2);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_write(s, "global/a", "alice@1", "a=1234\n"), 0);
	size_t n = fill(s);
	assert_int_equal(stage_write(s, "global/a", "alice@1", text), -EDQUOT);
	assert_int_equal(s->why.code, ATLOCK_QUOTA);
	assert_int_equal(stage_write(s, "global/a", "alice@1", "a=12345\n"), -EDQUOT);
	assert_int_equal(stage_write(s, "global/a", "alice@1", "a=4321\n"), 0);
	assert_int_equal(stage_write(s, "global/a", "alice@1", "ttl=10m\n"), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stage_release(s, lock_of(i, lock), "alice@1"), 0);
}

/* More of them at once than there are pages for. */
static void leases_that_end_together_are_ended(void **state)
{
	struct stage *s = *state;
	struct atlock_status status = { .held = 1 };
	const struct timespec pause = { .tv_nsec = 20 * 1000000 };
	char lock[TEXT_MAX];
	size_t n = fill(s);

	for (size_t i = 0; i < n; i++)
		(void)stage_write(s, lock_of(i, lock), "alice@1", "ttl=3s\n");
	stage_close(s);
	nanosleep(&(struct timespec){ .tv_sec = 4 }, NULL);
	stage_open(s);
	for (int i = 0; i < 6000 && status.held > 0; i++) {
		nanosleep(&pause, NULL);
		assert_int_equal(atlock_status(s->al, &status), 0);
	}
	assert_int_equal(status.held, 0);
	no_event_is_gone(s);
	archive(s);
	assert_int_equal(stage_acquire(s, "global/more", "alice@1", 0), 0);
}

static void full_store_can_be_opened_again(void **state)
{
	struct stage *s = *state;
	char lock[TEXT_MAX];
	size_t n = fill(s);

	stage_reopen(s);
	assert_int_equal(stage_acquire(s, "global/more", "alice@1", 0), -EDQUOT);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stage_release(s, lock_of(i, lock), "alice@1"), 0);
	archive(s);
	assert_int_equal(stage_acquire(s, "global/more", "alice@1", 0), 0);
}

/* An archive of events would make no room where texts have filled the store: the advice is another. */
static void advice_names_what_fills_the_store(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_pull_name pull;
	char text[16000];
	char path[TEXT_MAX];
	char *health;
	size_t len;
	int rc = 0;

	memset(text, 'x', sizeof(text));
	text[0] = 'k';
	text[1] = '=';
	text[sizeof(text) - 1] = '\n';
	for (int i = 1; rc == 0 && i < MANY; i++) {
		(void)snprintf(path, sizeof(path), "pulls/github.com/acme/infra/-/%d", i);
		assert_int_equal(atlock_pull_parse(path, &pull, &s->why), 0);
		rc = atlock_pull_write(s->al, &bob, &pull, ATLOCK_PULL_META, text, sizeof(text), true, &s->why);
	}
	assert_int_equal(rc, -EDQUOT);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), -EDQUOT);
	assert_non_null(strstr(s->why.text, "by locks, pull requests and their texts about 1, by events 0"));
	assert_non_null(strstr(s->why.text, "rmdir pulls/"));
	assert_null(strstr(s->why.text, "archive"));
	health = atlock_health_text(s->al, true, &len);
	assert_non_null(health);
	assert_non_null(strstr(health, "it is not for events: make room"));
	free(health);
}

#define FULL(test) cmocka_unit_test_setup_teardown(test, setup, stage_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FULL(releases_go_on_and_then_acquires_work_again),
		FULL(whatever_adds_is_refused_alike),
		FULL(holders_go_on),
		FULL(changes_leave_the_room_for_releases),
		FULL(texts_do_not_grow),
		FULL(leases_that_end_together_are_ended),
		FULL(full_store_can_be_opened_again),
		FULL(advice_names_what_fills_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
