/*
 * Taking locks and giving them back: who gets one, who is refused and how, tokens, and many at once.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define LOCK "repos/a/-/d/-/a"

static void free_lock_is_taken(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.state, ATLOCK_ACQUIRED);
	assert_string_equal(view.owner, "alice");
	assert_string_equal(view.who, "1");
	assert_string_equal(view.host, "host");
	assert_string_equal(view.meta, "");
	assert_int_equal(view.uid, 1000);
	assert_int_equal(view.mode, 0644);
	assert_int_equal(view.pid, 4711);
	assert_int_equal(view.token, s->grant.token);
	assert_int_equal(view.version, 1);
	assert_int_equal(view.id_time, s->time.wall);
	assert_int_equal(view.acquired_at, atlock_now(s->al));
	assert_int_equal(view.expires_at, atlock_now(s->al) + 60 * ATLOCK_SECOND);
	assert_int_equal(view.ttl, 60 * ATLOCK_SECOND);
	assert_int_equal(view.priority, ATLOCK_NORMAL);
	assert_int_equal(view.waiters, 0);
	atlock_view_clear(&view);
	assert_string_equal(stage_events(s), "acquired");
}

static void lease_comes_from_the_option_unless_asked_for(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 0), 0);
	assert_int_equal(s->grant.expires_at - s->grant.acquired_at, s->options.default_ttl);
}

static void holders_that_something_else_ends_need_no_lease(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/w", "alice@pr:5", 0), 0);
	assert_int_equal(s->grant.expires_at, ATLOCK_NEVER);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/b", "alice@pid:1", 0), 0);
	assert_int_equal(s->grant.expires_at, ATLOCK_NEVER);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/c", "alice@flock:1", 0), 0);
	assert_int_equal(s->grant.expires_at, ATLOCK_NEVER);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/d", "alice@pr:5", 60), 0);
	assert_int_equal(s->grant.expires_at - s->grant.acquired_at, 60 * ATLOCK_SECOND);
}

static void lease_without_end_is_for_administrators(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	req->ttl = ATLOCK_NEVER;
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), -EINVAL);
	assert_int_equal(s->why.code, ATLOCK_INVALID_REQUEST);
	req = stage_ask(s, LOCK, "root@1");
	req->ttl = ATLOCK_NEVER;
	assert_int_equal(atlock_acquire(s->al, req, &s->grant, &s->why), 0);
	assert_int_equal(s->grant.expires_at, ATLOCK_NEVER);
}

static void lease_may_be_as_long_as_max_ttl(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	req->ttl = s->options.max_ttl + 1;
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), -EINVAL);
	assert_string_equal(stage_holder(s, LOCK), "free");
	req->ttl = s->options.max_ttl;
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), 0);
}

static void another_who_of_the_same_user_is_refused(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, LOCK, "alice@2", 60), -EBUSY);
	assert_int_equal(s->why.code, ATLOCK_LOCK_EXISTS);
	assert_non_null(strstr(s->why.text, "repos/a/-/d/-/a is held by alice@1 since 2027-01-15T08:00:00.000Z until "
					    "2027-01-15T08:01:00.000Z, 0 waiting"));
}

static void another_user_is_refused(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, LOCK, "bob@1", 60), -EACCES);
	assert_int_equal(s->why.code, ATLOCK_LOCK_EXISTS);
	/* An administrator forces releases, not acquires. */
	assert_int_equal(stage_acquire(s, LOCK, "root@1", 60), -EACCES);
}

static void exclusive_acquire_of_a_held_lock_is_refused(void **state)
{
	struct stage *s = *state;
	static const char *const callers[] = { "alice@1", "alice@2", "bob@1" };

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	for (size_t i = 0; i < 3; i++) {
		struct atlock_request *req = stage_ask(s, LOCK, callers[i]);

		req->exclusive = true;
		assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), -EEXIST);
		assert_int_equal(s->why.code, ATLOCK_LOCK_EXISTS);
	}
}

static void same_holder_enters_again_without_a_change(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	struct atlock_grant first = s->grant;
	stage_advance(s, 10);
	uint64_t before = stage_commits(s);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 0), 1);
	assert_int_equal(stage_commits(s), before);
	assert_int_equal(s->grant.token, first.token);
	assert_int_equal(s->grant.version, 1);
	assert_int_equal(s->grant.expires_at, first.expires_at);
}

static void same_holder_may_replace_the_lease(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	struct atlock_grant first = s->grant;
	stage_advance(s, 10);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 20), 1);
	assert_int_equal(s->grant.token, first.token);
	assert_int_equal(s->grant.version, 2);
	assert_int_equal(s->grant.acquired_at, first.acquired_at);
	assert_int_equal(s->grant.expires_at, first.acquired_at + 30 * ATLOCK_SECOND);
	assert_string_equal(stage_events(s), "acquired renewed");
}

static void same_holder_may_add_text(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	req->text = "reason=x\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), 0);
	req->text = "job=7\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_acquire(s->al, req, &s->grant, &s->why), 1);
	struct atlock_view view = stage_view(s, LOCK);
	assert_string_equal(view.meta, "reason=x\njob=7\n");
	/* It is a change like any other: seen in the version and in the log. */
	assert_int_equal(view.version, 2);
	assert_int_equal(s->grant.version, 2);
	atlock_view_clear(&view);
	assert_string_equal(stage_events(s), "acquired changed");
}

static void bad_text_acquires_nothing(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");
	uint64_t before = stage_commits(s);

	req->text = "reason=x\nttl=soon\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), -EINVAL);
	assert_non_null(strstr(s->why.text, "line 2"));
	assert_int_equal(stage_commits(s), before);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

static void mode_comes_from_the_request(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	req->mode = S_IFREG | 0600;
	assert_int_equal(atlock_acquire(s->al, req, NULL, &s->why), 0);
	struct atlock_view view = stage_view(s, LOCK);
	assert_int_equal(view.mode, 0600);
	atlock_view_clear(&view);
}

static void released_lock_is_free(void **state)
{
	struct stage *s = *state;
	struct atlock_view view;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(atlock_release(s->al, stage_ask(s, LOCK, "alice@1"), &view, &s->why), 0);
	assert_int_equal(view.state, ATLOCK_RELEASED);
	assert_int_equal(view.token, s->grant.token);
	assert_string_equal(view.who, "1");
	atlock_view_clear(&view);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_string_equal(stage_events(s), "acquired released");
}

static void releasing_a_free_lock_is_no_error(void **state)
{
	struct stage *s = *state;
	struct atlock_view view;

	assert_int_equal(stage_release(s, LOCK, "alice@1"), 1);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(atlock_release(s->al, stage_ask(s, LOCK, "alice@1"), &view, &s->why), 1);
	assert_null(view.owner);
}

static void only_the_holder_releases(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_release(s, LOCK, "alice@2"), -EPERM);
	assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
	assert_int_equal(stage_release(s, LOCK, "bob@1"), -EACCES);
	assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
	/* Force is for administrators, and administrators must say it. */
	req = stage_ask(s, LOCK, "bob@1");
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -EACCES);
	assert_int_equal(stage_release(s, LOCK, "root@1"), -EACCES);
	assert_string_equal(stage_holder(s, LOCK), "alice@1");
}

static void administrator_forces_a_release(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK "@1", "root@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 0);
	assert_string_equal(stage_holder(s, LOCK), "free");
	assert_string_equal(stage_events(s), "acquired forced");
}

/* Without the holder's name it may be a script's clean-up, of a lock that it never got. */
static void administrator_who_names_no_holder_forces_nothing(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_request *req = stage_ask(s, LOCK, "root@2");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -EACCES);
	assert_non_null(strstr(s->why.text, "name its holder: add @1 to the lock's name"));
	assert_int_equal(atlock_transfer(s->al, req, &bob, &s->why), -EACCES);
	assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), -EACCES);
	assert_string_equal(stage_holder(s, LOCK), "alice@1");
	stage_configure(s, "admin_rm", "any");
	assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), 0);
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 0);
	/* Another session of root's, too. */
	stage_configure(s, "admin_rm", "named");
	assert_int_equal(stage_acquire(s, LOCK, "root@1", 60), 0);
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -EPERM);
}

/* "rm f@build-17" is compare and delete, for administrators too. */
static void release_under_another_who_in_the_name_does_nothing(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK "@2", "root@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 1);
	assert_string_equal(stage_holder(s, LOCK), "alice@1");
	assert_int_equal(stage_release(s, LOCK "@1", "alice@1"), 0);
}

static void release_of_another_version_is_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_renew(s, LOCK, "alice@1", 60), 0);
	req->version = 1;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -EAGAIN);
	assert_int_equal(s->why.code, ATLOCK_VERSION_CONFLICT);
	req->version = 2;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 0);
}

/* A handle opened on an earlier grant must not act on a later one, though holder and version are the same. */
static void token_of_an_earlier_grant_is_stale(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, LOCK, "alice@1");

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	req->token = s->grant.token;
	assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -ESTALE);
	assert_int_equal(s->why.code, ATLOCK_LOCK_EXPIRED);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -ESTALE);
	assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), -ESTALE);
	assert_int_equal(atlock_write(s->al, req, &s->why), -ESTALE);
	assert_int_equal(atlock_chmod(s->al, req, 0600, &s->why), -ESTALE);
	req->token = s->grant.token;
	assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), 0);
}

static void get_by_another_who_finds_nothing(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_string_equal(stage_holder(s, LOCK "@1"), "alice@1");
	assert_string_equal(stage_holder(s, LOCK "@2"), "free");
}

static void holds_tells_whose_a_lock_is(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name(LOCK);
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_caller same = stage_caller("alice@2");
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_view view;

	assert_int_equal(atlock_holds(s->al, &name, &alice, &view, &s->why), 1);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	uint64_t before = stage_commits(s);
	assert_int_equal(atlock_holds(s->al, &name, &alice, &view, &s->why), 0);
	assert_int_equal(view.token, s->grant.token);
	atlock_view_clear(&view);
	assert_int_equal(atlock_holds(s->al, &name, &same, NULL, &s->why), -EBUSY);
	assert_int_equal(s->why.code, ATLOCK_LOCK_EXISTS);
	assert_int_equal(atlock_holds(s->al, &name, &bob, NULL, &s->why), -EACCES);
	assert_int_equal(stage_commits(s), before);
	stage_advance(s, 61);
	assert_int_equal(atlock_holds(s->al, &name, &bob, NULL, &s->why), 1);
}

static void every_grant_has_a_greater_token(void **state)
{
	static const char *const locks[] = { "repos/a/-/d/-/a", "repos/a/-/d/-/w", "repos/a/-/d/-/a" };
	struct stage *s = *state;
	uint64_t last = 0;

	for (size_t i = 0; i < 30; i++) {
		assert_int_equal(stage_acquire(s, locks[i % 3], "alice@1", 60), 0);
		assert_true(s->grant.token > last);
		last = s->grant.token;
		assert_int_equal(stage_release(s, locks[i % 3], "alice@1"), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(free_lock_is_taken),
		STAGED(lease_comes_from_the_option_unless_asked_for),
		STAGED(holders_that_something_else_ends_need_no_lease),
		STAGED(lease_without_end_is_for_administrators),
		STAGED(lease_may_be_as_long_as_max_ttl),
		STAGED(another_who_of_the_same_user_is_refused),
		STAGED(another_user_is_refused),
		STAGED(exclusive_acquire_of_a_held_lock_is_refused),
		STAGED(same_holder_enters_again_without_a_change),
		STAGED(same_holder_may_replace_the_lease),
		STAGED(same_holder_may_add_text),
		STAGED(bad_text_acquires_nothing),
		STAGED(mode_comes_from_the_request),
		STAGED(released_lock_is_free),
		STAGED(releasing_a_free_lock_is_no_error),
		STAGED(only_the_holder_releases),
		STAGED(administrator_forces_a_release),
		STAGED(administrator_who_names_no_holder_forces_nothing),
		STAGED(release_under_another_who_in_the_name_does_nothing),
		STAGED(release_of_another_version_is_refused),
		STAGED(token_of_an_earlier_grant_is_stale),
		STAGED(get_by_another_who_finds_nothing),
		STAGED(holds_tells_whose_a_lock_is),
		STAGED(every_grant_has_a_greater_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
