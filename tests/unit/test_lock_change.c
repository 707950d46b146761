/*
 * What a holder can do to a lock it has: renew, write, hand it to another, claim, change its mode and group.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "repos/a/-/d/-/a"

static int64_t seconds_left(struct stage *s, const char *lock)
{
	struct atlock_view view = stage_view(s, lock);
	int64_t left = view.expires_at == ATLOCK_NEVER ? -1 : (view.expires_at - atlock_now(s->al)) / ATLOCK_SECOND;

	atlock_view_clear(&view);
	return left;
}

static int64_t lease(struct stage *s, const char *lock)
{
	struct atlock_view view = stage_view(s, lock);
	int64_t ttl = view.ttl / ATLOCK_SECOND;

	atlock_view_clear(&view);
	return ttl;
}

static int renew_add(struct stage *s, const char *as, int64_t ttl)
{
	struct atlock_request *req = stage_ask(s, LOCK, as);

	req->ttl = ttl;
	req->add = true;
	return atlock_renew(s->al, req, &s->grant, &s->why);
}

static void renew_starts_the_lease_again(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 50);
	uint64_t token = s->grant.token;
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 0), 0);
	assert_int_equal(seconds_left(s, LOCK), 60);
	assert_int_equal(s->grant.token, token);
	assert_int_equal(s->grant.version, 2);
	assert_string_equal(stage_events(s), "acquired renewed");
}

static void renew_may_shorten_and_lengthen(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 10), 0);
	assert_int_equal(seconds_left(s, LOCK), 10);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 7200), 0);
	assert_int_equal(seconds_left(s, LOCK), 7200);
	assert_int_equal(lease(s, LOCK), 7200);
}

static void renew_adds_to_the_old_expiry(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	stage_advance(s, 50);
	assert_int_equal(renew_add(s, "alice@1", 30 * ATLOCK_SECOND), 0);
	assert_int_equal(seconds_left(s, LOCK), 40);
	assert_int_equal(lease(s, LOCK), 90);
}

static void renew_by_nothing_or_less_is_refused(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(renew_add(s, "alice@1", 0), -EINVAL);
	assert_int_equal(renew_add(s, "alice@1", -1), -EINVAL);
	assert_int_equal(renew_add(s, "alice@1", INT64_MIN), -EINVAL);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", -1), -EINVAL);
	assert_int_equal(seconds_left(s, LOCK), 60);
	assert_string_equal(stage_events(s), "acquired");
}

static void renew_beyond_max_ttl_is_refused(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 7200), 0);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 7201), -EINVAL);
	assert_int_equal(renew_add(s, "alice@1", 1), -EINVAL);
	assert_int_equal(renew_add(s, "alice@1", INT64_MAX - 1), -EINVAL);
	stage_advance(s, 10);
	assert_int_equal(renew_add(s, "alice@1", 10 * ATLOCK_SECOND), 0);
	assert_int_equal(seconds_left(s, LOCK), 7200);
}

static void lease_without_end_stays_without_end(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@pr:5", 0), 0);
	assert_int_equal(stage_renew(s, LOCK, "alice@pr:5", 0), 0);
	assert_int_equal(seconds_left(s, LOCK), -1);
	assert_int_equal(renew_add(s, "alice@pr:5", 60 * ATLOCK_SECOND), 0);
	assert_int_equal(seconds_left(s, LOCK), -1);
	assert_int_equal(stage_renew(s, LOCK, "alice@pr:5", 60), 0);
	assert_int_equal(seconds_left(s, LOCK), 60);
}

static void only_the_holder_changes_a_lock(void **state)
{
	static const struct {
		const char *as;
		int expected;
	} others[] = { { "alice@2", -EPERM }, { "bob@1", -EACCES }, { "root@1", -EACCES } };
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	uint64_t before = stage_commits(s);
	for (size_t i = 0; i < 3; i++) {
		const char *as = others[i].as;
		struct atlock_request *req = stage_ask(s, LOCK, as);

		assert_int_equal(stage_renew(s, LOCK, as, 0), others[i].expected);
		assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
		assert_int_equal(stage_write(s, LOCK, as, "a=b\n"), others[i].expected);
		assert_int_equal(stage_transfer(s, LOCK, as, as), others[i].expected);
		assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), others[i].expected);
		assert_int_equal(atlock_chgrp(s->al, req, 5, &s->why), others[i].expected);
		assert_int_equal(atlock_claim(s->al, req, &s->why), others[i].expected);
	}
	assert_int_equal(stage_commits(s), before);
}

static void nothing_changes_a_free_lock(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");
	uint64_t before = stage_commits(s);

	assert_int_equal(stage_renew(s, LOCK, "alice@1", 0), -ENOENT);
	assert_int_equal(s->why.code, ATLOCK_LOCK_NOT_FOUND);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=b\n"), -ENOENT);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@1"), -ENOENT);
	assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), -ENOENT);
	assert_int_equal(atlock_chgrp(s->al, req, 5, &s->why), -ENOENT);
	assert_int_equal(atlock_claim(s->al, req, &s->why), -ENOENT);
	assert_int_equal(stage_commits(s), before);
}

static void change_under_another_who_in_the_name_finds_nothing(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_renew(s, LOCK "@2", "alice@1", 0), -ENOENT);
	assert_int_equal(stage_write(s, LOCK "@2", "alice@1", "a=b\n"), -ENOENT);
	assert_int_equal(stage_renew(s, LOCK "@1", "alice@1", 0), 0);
}

static void every_change_adds_one_to_the_version(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 0), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=b\n"), 0);
	assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), 0);
	assert_int_equal(atlock_chgrp(s->al, req, 7, &s->why), 0);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@1"), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.version, 6);
	assert_int_equal(view.mode, 0600);
	atlock_view_clear(&view);
	assert_string_equal(stage_events(s), "acquired renewed changed changed changed transferred");
}

static void change_of_another_version_is_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	req->version = 2;
	assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), -EAGAIN);
	assert_int_equal(s->why.code, ATLOCK_VERSION_CONFLICT);
	assert_int_equal(atlock_write(s->al, req, &s->why), -EAGAIN);
	assert_int_equal(atlock_transfer(s->al, req, &bob, &s->why), -EAGAIN);
	assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), -EAGAIN);
	req->version = 1;
	assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), 0);
}

static void write_merges_and_replaces(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req;
	struct atlock_view view;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=1\nb=2\n"), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "b=3\nc=4\n"), 0);
	view = stage_view(s, LOCK);
	assert_string_equal(view.meta, "a=1\nb=3\nc=4\n");
	req = stage_ask(s, LOCK, "alice@1");
	req->replace = true;
	req->text = view.meta + 4;
	req->text_len = 4;
	assert_int_equal(atlock_write(s->al, req, &s->why), 0);
	atlock_view_clear(&view);
	view = stage_view(s, LOCK);
	assert_string_equal(view.meta, "b=3\n");
	atlock_view_clear(&view);
	req->text_len = 0;
	assert_int_equal(atlock_write(s->al, req, &s->why), 0);
	view = stage_view(s, LOCK);
	assert_string_equal(view.meta, "");
	atlock_view_clear(&view);
}

static void write_with_a_bad_line_changes_nothing(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	uint64_t before = stage_commits(s);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=1\npriority=urgent\n"), -EINVAL);
	assert_non_null(strstr(s->why.text, "line 2"));
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=1\nttl=3h\n"), -EINVAL);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=1\nowner=nobody-has-this-name\n"), -EINVAL);
	assert_int_equal(stage_commits(s), before);
	assert_string_equal(stage_holder(s, LOCK), "alice@1");
}

static void write_sets_lease_and_priority(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "ttl=90s\npriority=high\n"), 0);
	assert_int_equal(seconds_left(s, LOCK), 90);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "renew=10s\n"), 0);
	assert_int_equal(seconds_left(s, LOCK), 100);
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.priority, ATLOCK_HIGH);
	atlock_view_clear(&view);
}

static void write_hands_the_lock_to_another(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "who=build-2\n"), 0);
	assert_string_equal(stage_holder(s, LOCK), "alice@build-2");
	assert_int_equal(stage_write(s, LOCK, "alice@build-2", "owner=root\nwho=pr:7\n"), 0);
	assert_string_equal(stage_holder(s, LOCK), "root@pr:7 pending");
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.uid, 0);
	assert_int_equal(view.token, s->grant.token);
	atlock_view_clear(&view);
	assert_string_equal(stage_events(s), "acquired transferred transferred");
}

/* Nothing would ever end it: the process is the other user's, and nobody is that holder. */
static void process_bound_lock_is_not_handed_over_by_owner_alone(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@pid:1", 60), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@pid:1", "owner=root\n"), -EINVAL);
	assert_string_equal(stage_holder(s, LOCK), "alice@pid:1");
	assert_int_equal(stage_write(s, LOCK, "alice@pid:1", "owner=root\nwho=1\n"), 0);
	assert_string_equal(stage_holder(s, LOCK), "root@1 pending");
}

static void transfer_keeps_token_lease_and_queue(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "a=1\n"), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_NORMAL, NULL), 0);
	stage_advance(s, 20);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@7"), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_string_equal(view.owner, "bob");
	assert_string_equal(view.who, "7");
	assert_int_equal(view.uid, 1001);
	assert_int_equal(view.token, s->grant.token);
	assert_int_equal(view.expires_at, s->grant.expires_at);
	assert_int_equal(view.ttl, 60 * ATLOCK_SECOND);
	assert_int_equal(view.waiters, 1);
	assert_string_equal(view.meta, "a=1\n");
	atlock_view_clear(&view);
	assert_string_equal(stage_queue(s, LOCK), "carol@1");
	assert_int_equal(stage_release(s, LOCK, "alice@1"), -EACCES);
	assert_int_equal(stage_release(s, LOCK, "bob@7"), 0);
}

static void transfer_to_a_waiter_ends_its_wait(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "carol@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@1"), 0);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, 0);
	assert_int_equal(told->grant.version, 2);
	assert_string_equal(stage_queue(s, LOCK), "carol@1");
}

static void transfer_to_the_holder_changes_nothing(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	uint64_t before = stage_commits(s);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "alice@1"), 0);
	assert_int_equal(stage_commits(s), before);
}

static void administrator_forces_a_transfer(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_request *req = stage_ask(s, LOCK "@1", "root@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	req->force = true;
	assert_int_equal(atlock_transfer(s->al, req, &bob, &s->why), 0);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
}

static void transfer_takes_up_a_grant_that_was_not_claimed(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
	assert_int_equal(stage_transfer(s, LOCK, "bob@1", "carol@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "carol@1 pending");
}

/* Otherwise a giver whose lease is about to end has the lock again while the one who waited for it works on. */
static void transfer_to_a_waiter_gives_what_it_asked_for(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct atlock_request *req;
	struct atlock_view view;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 2), 0);
	assert_int_equal(stage_write(s, LOCK, "alice@1", "reason=mine\n"), 0);
	assert_int_equal(atlock_chmod(s->al, stage_ask(s, LOCK, "alice@1"), 0600, &s->why), 0);
	req = stage_ask(s, LOCK, "bob@1");
	req->text = "ttl=2h\nreason=bobs\npriority=high\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_wait(s->al, req, told_done, told, NULL, NULL, &s->why), 1);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@1"), 0);
	assert_int_equal(told->err, 0);
	assert_int_equal(told->grant.expires_at, atlock_now(s->al) + 7200 * ATLOCK_SECOND);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
	assert_int_equal(seconds_left(s, LOCK), 7200);
	view = stage_view(s, LOCK);
	assert_int_equal(view.version, told->grant.version);
	assert_int_equal(view.token, s->grant.token);
	assert_int_equal(view.mode, 0644);
	assert_int_equal(view.priority, ATLOCK_HIGH);
	assert_string_equal(view.meta, "reason=bobs\n");
	atlock_view_clear(&view);
}

/* Of several tickets of one holder the first in service order counts. One that no call is blocked on must be taken up. */
static void transfer_to_a_ticket_leaves_it_pending(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 2), 0);
	assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@1"), 0);
	assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_string_equal(stage_events(s), "acquired queued transferred unclaimed");
}

/* A lock that another user gave has the giver's lease until its holder does something with it. */
static void gift_is_taken_up_with_a_lease_of_its_own(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 2), 0);
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@1"), 0);
	assert_int_equal(seconds_left(s, LOCK), 2);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 0), 1);
	assert_string_equal(stage_holder(s, LOCK), "bob@1");
	assert_int_equal(seconds_left(s, LOCK), 1800);
	/* A longer one stays, and an asked one counts. */
	assert_int_equal(stage_renew(s, LOCK, "bob@1", 3600), 0);
	assert_int_equal(stage_transfer(s, LOCK, "bob@1", "carol@1"), 0);
	assert_int_equal(stage_renew(s, LOCK, "carol@1", 0), 0);
	assert_int_equal(seconds_left(s, LOCK), 3600);
	assert_int_equal(stage_transfer(s, LOCK, "carol@1", "alice@1"), 0);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 1);
	assert_int_equal(seconds_left(s, LOCK), 60);
	/* Nobody takes it up. */
	assert_int_equal(stage_transfer(s, LOCK, "alice@1", "bob@1"), 0);
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(stage_renew(s, LOCK, "bob@1", 0), -ENOENT);
}

/* A lock without a lease is not somebody's for good because another user says so. */
static void gift_without_a_lease_is_taken_up_or_ends(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@pr:1", 0), 0);
	assert_int_equal(stage_transfer(s, LOCK, "alice@pr:1", "bob@pr:1"), 0);
	stage_advance(s, 1799);
	assert_int_equal(atlock_run_due(s->al), 0);
	assert_int_equal(stage_transfer(s, LOCK, "bob@pr:1", "carol@pr:1"), 0);
	stage_advance(s, 1801);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(stage_acquire(s, LOCK, "alice@pr:1", 0), 0);
	assert_int_equal(stage_transfer(s, LOCK, "alice@pr:1", "bob@pr:1"), 0);
	assert_int_equal(stage_renew(s, LOCK, "bob@pr:1", 0), 0);
	stage_advance(s, 100000);
	assert_string_equal(stage_holder(s, LOCK), "bob@pr:1");
}

/* Whatever the holder of an unclaimed grant does with it takes it up. */
static void any_access_claims(void **state)
{
	struct stage *s = *state;
	uint64_t before;

	for (int how = 0; how < 6; how++) {
		struct told *told = stage_told(s);
		struct atlock_request *req;

		assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
		assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 0);
		assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
		assert_string_equal(stage_holder(s, LOCK), "bob@1 pending");
		stage_advance(s, 30);
		req = stage_ask(s, LOCK, "bob@1");
		switch (how) {
		case 0: assert_int_equal(atlock_claim(s->al, req, &s->why), 0); break;
		case 1: assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), 1); break;
		case 2: assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), 0); break;
		case 3: assert_int_equal(atlock_write(s->al, req, &s->why), 0); break;
		case 4: assert_int_equal(stage_wait(s, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 0); break;
		default: assert_int_equal(stage_enqueue(s, LOCK, "bob@1", ATLOCK_NORMAL, NULL), 2); break;
		}
		assert_string_equal(stage_holder(s, LOCK), "bob@1");
		assert_int_equal(seconds_left(s, LOCK), s->options.default_ttl / ATLOCK_SECOND);
		before = stage_commits(s);
		assert_int_equal(atlock_claim(s->al, req, &s->why), 1);
		assert_int_equal(stage_commits(s), before);
		assert_int_equal(stage_release(s, LOCK, "bob@1"), 0);
	}
}

static void mode_has_permission_bits_only(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(atlock_chmod(s->al, req, 04755, &s->why), -EINVAL);
	assert_int_equal(atlock_chmod(s->al, req, 0, &s->why), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.mode, 0);
	atlock_view_clear(&view);
}

static void text_of_a_lock_to_come_cannot_change_one_that_is_held(void **state)
{
	static const char *const texts[] = { "owner=bob\n", "who=other\n", "renew=60s\n" };
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, "repos/a/-/d/-/a", "alice@1");

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		req->text = texts[i];
		req->text_len = strlen(texts[i]);
		assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), -EINVAL);
		assert_int_equal(atlock_enqueue(s->al, req, NULL, NULL, &s->why), -EINVAL);
		assert_int_equal(s->why.code, ATLOCK_INVALID_REQUEST);
	}
	assert_string_equal(stage_holder(s, "repos/a/-/d/-/a"), "free");
}

/* Else anybody could have a lock without a lease: take it for a process, then give it another name. */
static void lock_without_a_lease_gets_one_with_a_plain_holder(void **state)
{
	struct stage *s = *state;
	struct atlock_view view;

	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/a", "alice@pr:5", 0), 0);
	assert_int_equal(stage_transfer(s, "repos/a/-/d/-/a", "alice@pr:5", "alice@pr:6"), 0);
	view = stage_view(s, "repos/a/-/d/-/a");
	assert_true(view.expires_at == ATLOCK_NEVER);
	atlock_view_clear(&view);
	assert_int_equal(stage_write(s, "repos/a/-/d/-/a", "alice@pr:6", "who=plain\n"), 0);
	view = stage_view(s, "repos/a/-/d/-/a");
	assert_true(view.expires_at == atlock_now(s->al) + s->options.default_ttl);
	atlock_view_clear(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(renew_starts_the_lease_again),
		STAGED(renew_may_shorten_and_lengthen),
		STAGED(renew_adds_to_the_old_expiry),
		STAGED(renew_by_nothing_or_less_is_refused),
		STAGED(renew_beyond_max_ttl_is_refused),
		STAGED(lease_without_end_stays_without_end),
		STAGED(only_the_holder_changes_a_lock),
		STAGED(nothing_changes_a_free_lock),
		STAGED(change_under_another_who_in_the_name_finds_nothing),
		STAGED(every_change_adds_one_to_the_version),
		STAGED(change_of_another_version_is_refused),
		STAGED(write_merges_and_replaces),
		STAGED(write_with_a_bad_line_changes_nothing),
		STAGED(write_sets_lease_and_priority),
		STAGED(write_hands_the_lock_to_another),
		STAGED(process_bound_lock_is_not_handed_over_by_owner_alone),
		STAGED(transfer_keeps_token_lease_and_queue),
		STAGED(transfer_to_a_waiter_ends_its_wait),
		STAGED(transfer_to_the_holder_changes_nothing),
		STAGED(administrator_forces_a_transfer),
		STAGED(transfer_takes_up_a_grant_that_was_not_claimed),
		STAGED(transfer_to_a_waiter_gives_what_it_asked_for),
		STAGED(transfer_to_a_ticket_leaves_it_pending),
		STAGED(gift_is_taken_up_with_a_lease_of_its_own),
		STAGED(gift_without_a_lease_is_taken_up_or_ends),
		STAGED(any_access_claims),
		STAGED(mode_has_permission_bits_only),
		STAGED(text_of_a_lock_to_come_cannot_change_one_that_is_held),
		STAGED(lock_without_a_lease_gets_one_with_a_plain_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
