/* An administrator takes a lock for another user, known or not, in one step. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/stage.h"

#define LOCK "repos/acme/infra/-/vpc/-/prod"
#define NOBODY 65534

static int acquire_with(struct stage *s, const char *as, const char *text)
{
	struct atlock_request *req = stage_ask(s, LOCK, as);

	req->text = text;
	req->text_len = strlen(text);
	return atlock_acquire(s->al, req, &s->grant, &s->why);
}

static void administrator_takes_a_lock_for_a_user_nobody_knows(void **state)
{
	struct stage *s = *state;
	struct atlock_view view;
	uint64_t commits = stage_commits(s);

	assert_int_equal(acquire_with(s, "root@pr:7", "owner=octo-cat[bot]\nttl=never\ntime=then\n"), 0);
	assert_int_equal(stage_commits(s), commits + 1);
	assert_string_equal(stage_events(s), "acquired");
	view = stage_view(s, LOCK);
	assert_string_equal(view.owner, "octo-cat[bot]");
	assert_string_equal(view.who, "pr:7");
	assert_string_equal(view.meta, "time=then\n");
	assert_int_equal(view.uid, NOBODY);
	assert_int_equal(view.gid, NOBODY);
	assert_true(view.ttl == ATLOCK_NEVER);
	atlock_view_clear(&view);
}

static void lock_taken_for_a_known_user_is_his(void **state)
{
	struct stage *s = *state;
	struct atlock_view view;

	assert_int_equal(acquire_with(s, "root@build", "owner=daemon\n"), 0);
	view = stage_view(s, LOCK);
	assert_string_equal(view.owner, "daemon");
	assert_int_equal(view.uid, 1);
	atlock_view_clear(&view);
	/* Not the administrator's, who must force what he does to it. */
	assert_int_equal(stage_renew(s, LOCK, "root@build", 60), -EACCES);
	assert_int_equal(acquire_with(s, "root@build", "a=1\n"), -EACCES);
	assert_int_equal(stage_renew(s, LOCK, "daemon@build", 60), 0);
}

static void lock_taken_again_for_the_same_user_is_the_same(void **state)
{
	struct stage *s = *state;

	assert_int_equal(acquire_with(s, "root@pr:7", "owner=octo\na=1\n"), 0);
	assert_int_equal(acquire_with(s, "root@pr:7", "owner=octo\nb=2\n"), 1);
	assert_int_equal(acquire_with(s, "root@pr:8", "owner=octo\n"), -EACCES);
	assert_int_equal(acquire_with(s, "root@pr:7", "owner=other\n"), -EACCES);
	assert_int_equal(s->why.code, ATLOCK_LOCK_EXISTS);
	assert_string_equal(stage_holder(s, LOCK), "octo@pr:7");
}

static void others_take_locks_for_themselves_only(void **state)
{
	struct stage *s = *state;

	assert_int_equal(acquire_with(s, "alice@pr:7", "owner=bob\n"), -EINVAL);
	assert_non_null(strstr(s->why.text, "administrators"));
	assert_string_equal(stage_holder(s, LOCK), "free");
}

static void session_cannot_be_given_another_owner(void **state)
{
	struct stage *s = *state;

	assert_int_equal(acquire_with(s, "root@sid:5", "owner=bob\n"), -EINVAL);
	assert_int_equal(acquire_with(s, "root@pr:5", "owner=bob\nwho=else\n"), -EINVAL);
	assert_int_equal(acquire_with(s, "root@pr:5", "owner=bob\nrenew=5s\n"), -EINVAL);
	assert_string_equal(stage_holder(s, LOCK), "free");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(administrator_takes_a_lock_for_a_user_nobody_knows),
		STAGED(lock_taken_for_a_known_user_is_his),
		STAGED(lock_taken_again_for_the_same_user_is_the_same),
		STAGED(others_take_locks_for_themselves_only),
		STAGED(session_cannot_be_given_another_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
