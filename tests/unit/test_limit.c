/* How much one user may have and ask for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rate.h"
#include "stage.h"

static void refused(struct stage *s, int rc, int err, enum atlock_code code, const char *option)
{
	assert_int_equal(rc, err);
	assert_int_equal(s->why.code, code);
	if (strstr(s->why.text, option) == NULL)
		fail_msg("not \"%s\": %s", option, s->why.text);
}

static void locks_of_a_user_are_counted_whatever_the_who(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "max_locks_per_user", "2");
	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@2", 0), 0);
	refused(s, stage_acquire(s, "global/c", "bob@3", 0), -EDQUOT, ATLOCK_QUOTA, "2 locks");
	assert_non_null(strstr(s->why.text, "max_locks_per_user"));
	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 60), 1);
	/* Others, with a name that begins like his, and administrators are not concerned. */
	assert_int_equal(stage_acquire(s, "global/c", "bobby@1", 0), 0);
	for (int i = 0; i < 4; i++) {
		char lock[32];

		snprintf(lock, sizeof(lock), "global/root%d", i);
		assert_int_equal(stage_acquire(s, lock, "root@1", 0), 0);
	}
	assert_int_equal(stage_release(s, "global/a", "bob@1"), 0);
	assert_int_equal(stage_acquire(s, "global/d", "bob@3", 0), 0);
}

static void what_is_waited_for_counts_as_held(void **state)
{
	struct stage *s = *state;
	uint64_t ticket;

	stage_configure(s, "max_locks_per_user", "2");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, &ticket), 0);
	refused(s, stage_acquire(s, "global/c", "bob@1", 0), -EDQUOT, ATLOCK_QUOTA, "max_locks_per_user");
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
	refused(s, stage_acquire(s, "global/c", "bob@1", 0), -EDQUOT, ATLOCK_QUOTA, "max_locks_per_user");
}

/* What is counted in memory stays right over runs that are dropped, commits that fail, other ends than a release, and restarts. */
static void counts_follow_what_is_held(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "max_locks_per_user", "2");
	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 0), 0);
	*mem_world_faults(s->world) = (struct mem_faults){ .rerun_percent = 100, .fail_in = 1, .fail_error = EIO };
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), -EIO);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 60), 0);
	refused(s, stage_acquire(s, "global/c", "bob@1", 0), -EDQUOT, ATLOCK_QUOTA, "2 locks");
	*mem_world_faults(s->world) = (struct mem_faults){ .rerun_percent = 100, .fail_in = 1, .fail_error = EIO };
	assert_int_equal(stage_release(s, "global/a", "bob@1"), -EIO);
	refused(s, stage_acquire(s, "global/c", "bob@1", 0), -EDQUOT, ATLOCK_QUOTA, "2 locks");
	stage_advance(s, 61);
	assert_int_equal(atlock_run_due(s->al), 1);
	assert_int_equal(stage_acquire(s, "global/c", "bob@1", 0), 0);
	refused(s, stage_acquire(s, "global/d", "bob@1", 0), -EDQUOT, ATLOCK_QUOTA, "2 locks");
	assert_int_equal(stage_transfer(s, "global/c", "bob@1", "carol@1"), 0);
	assert_int_equal(stage_acquire(s, "global/d", "bob@1", 0), 0);
	stage_reopen(s);
	refused(s, stage_acquire(s, "global/e", "bob@1", 0), -EDQUOT, ATLOCK_QUOTA, "2 locks");
	assert_int_equal(stage_release(s, "global/d", "bob@1"), 0);
	assert_int_equal(stage_acquire(s, "global/e", "bob@1", 0), 0);
}

static void lock_is_not_given_to_who_has_enough(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "max_locks_per_user", "1");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	refused(s, stage_transfer(s, "global/a", "alice@1", "bob@1"), -EDQUOT, ATLOCK_QUOTA, "bob holds");
	assert_int_equal(stage_transfer(s, "global/a", "alice@1", "alice@2"), 0);
	assert_string_equal(stage_holder(s, "global/a"), "alice@2");
}

/* Others fill an eighth of what a user may have, not more; who asks for a lock is given it all the same. */
static void gifts_leave_a_user_most_of_the_quota(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "max_locks_per_user", "16");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/c", "alice@1", 0), 0);
	assert_int_equal(stage_transfer(s, "global/a", "alice@1", "bob@1"), 0);
	assert_int_equal(stage_transfer(s, "global/b", "alice@1", "bob@1"), 0);
	refused(s, stage_transfer(s, "global/c", "alice@1", "bob@1"), -EDQUOT, ATLOCK_QUOTA, "can be given no more");
	assert_string_equal(stage_holder(s, "global/c"), "alice@1");
	assert_int_equal(stage_acquire(s, "global/d", "bob@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/c", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_transfer(s, "global/c", "alice@1", "bob@1"), 0);
}

static void waits_of_a_user_are_counted(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	uint64_t ticket;

	stage_configure(s, "max_waiters_per_user", "2");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, &ticket), 0);
	assert_int_equal(stage_wait(s, "global/b", "bob@2", ATLOCK_NORMAL, told, NULL), 1);
	refused(s, stage_enqueue(s, "global/a", "bob@3", ATLOCK_NORMAL, NULL), -EDQUOT, ATLOCK_QUOTA,
		"max_waiters_per_user");
	assert_int_equal(stage_enqueue(s, "global/a", "carol@3", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "root@3", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(atlock_cancel(s->al, stage_ask(s, "global/a", "bob@1"), ticket, &s->why), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@3", ATLOCK_NORMAL, NULL), 0);
}

/* However many names a user waits under, he leaves places in the queue of a lock to others. */
static void queue_has_places_for_several_users(void **state)
{
	struct stage *s = *state;
	uint64_t ticket;

	stage_configure(s, "max_queue", "8");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "carol@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_LOW, &ticket), 0);
	/* What he waits for elsewhere does not count. */
	assert_int_equal(stage_enqueue(s, "global/b", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_wait(s, "global/a", "bob@2", ATLOCK_HIGH, stage_told(s), NULL), 1);
	refused(s, stage_enqueue(s, "global/a", "bob@3", ATLOCK_CRITICAL, NULL), -EDQUOT, ATLOCK_QUOTA, "queue_share");
	assert_non_null(strstr(s->why.text, "bob has 2 places"));
	refused(s, stage_wait(s, "global/a", "bob@3", ATLOCK_NORMAL, stage_told(s), NULL), -EDQUOT, ATLOCK_QUOTA,
		"queue_share");
	assert_int_equal(stage_enqueue(s, "global/b", "bob@3", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "carol@2", ATLOCK_NORMAL, NULL), 0);
	for (int i = 0; i < 3; i++) {
		char as[] = "root@0";

		as[5] = (char)('1' + i);
		assert_int_equal(stage_enqueue(s, "global/a", as, ATLOCK_NORMAL, NULL), 0);
	}
	/* A place that is left can be taken again, and so can all, if that is what is wanted. */
	assert_int_equal(atlock_cancel(s->al, stage_ask(s, "global/a", "bob@1"), ticket, &s->why), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@3", ATLOCK_NORMAL, NULL), 0);
	stage_configure(s, "queue_share", "100");
	assert_int_equal(stage_enqueue(s, "global/a", "bob@4", ATLOCK_NORMAL, NULL), 0);
	refused(s, stage_enqueue(s, "global/a", "carol@3", ATLOCK_NORMAL, NULL), -EDQUOT, ATLOCK_QUEUE_FULL,
		"max_queue");
}

/* The least share is one place. */
static void short_queue_has_one_place_for_a_user(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "max_queue", "2");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, NULL), 0);
	refused(s, stage_enqueue(s, "global/a", "bob@2", ATLOCK_NORMAL, NULL), -EDQUOT, ATLOCK_QUOTA,
		"bob has 1 place ");
	assert_int_equal(stage_enqueue(s, "global/a", "carol@1", ATLOCK_NORMAL, NULL), 0);
}

static void calls_above_the_rate_are_refused_until_time_passes(void **state)
{
	struct stage *s = *state;
	char lock[32];

	stage_configure(s, "rate_limit", "4");
	for (int i = 0; i < 4; i++) {
		snprintf(lock, sizeof(lock), "global/l%d", i);
		assert_int_equal(stage_acquire(s, lock, "bob@1", 0), 0);
	}
	refused(s, stage_acquire(s, "global/x", "bob@2", 0), -EAGAIN, ATLOCK_RATE_LIMIT, "rate_limit");
	refused(s, stage_renew(s, "global/l0", "bob@1", 60), -EAGAIN, ATLOCK_RATE_LIMIT, "4 calls");
	refused(s, stage_enqueue(s, "global/x", "bob@1", ATLOCK_NORMAL, NULL), -EAGAIN, ATLOCK_RATE_LIMIT, "bob");
	/* Giving back is free; so are others and administrators. */
	for (int i = 0; i < 4; i++) {
		snprintf(lock, sizeof(lock), "global/l%d", i);
		assert_int_equal(stage_release(s, lock, "bob@1"), 0);
		assert_int_equal(stage_acquire(s, lock, "root@1", 0), 0);
		assert_int_equal(stage_acquire(s, lock, "root@1", 60), 1);
	}
	assert_int_equal(stage_acquire(s, "global/x", "carol@1", 0), 0);
	stage_advance_ns(s, ATLOCK_SECOND / 4);
	assert_int_equal(stage_acquire(s, "global/y", "bob@1", 0), 0);
	refused(s, stage_acquire(s, "global/z", "bob@1", 0), -EAGAIN, ATLOCK_RATE_LIMIT, "rate_limit");
	stage_advance(s, 100);
	for (int i = 0; i < 4; i++)
		assert_int_equal(stage_acquire(s, "global/y", "bob@1", 0), 1);
	refused(s, stage_acquire(s, "global/y", "bob@1", 0), -EAGAIN, ATLOCK_RATE_LIMIT, "rate_limit");
}

/* One who has many user numbers, as root of a user namespace does, may neither share another's rate nor make it anew. */
static void rates_are_of_users_and_not_of_remainders(void **state)
{
	const uid_t bob = 1001;
	const int64_t share = ATLOCK_SECOND / 4;
	struct rates *rates;
	int64_t now = ATLOCK_SECOND;

	(void)state;
	assert_int_equal(rates_new(&rates), 0);
	for (int i = 0; i < 4; i++)
		assert_true(rates_take(rates, bob, share, now));
	for (uid_t i = 0; i < 100000; i++)
		assert_true(rates_take(rates, i * 1024 + 2000000 + bob % 1024, share, now));
	assert_false(rates_take(rates, bob, share, now));
	assert_int_equal(rates_count(rates), 100001);
	/* All are forgotten when their second is over. */
	now += 2 * ATLOCK_SECOND;
	for (int i = 0; i < 110000; i++)
		(void)rates_take(rates, bob, share, now);
	assert_int_equal(rates_count(rates), 1);
	rates_free(rates);
}

static void shared_resources_pulls_and_priorities_are_under_the_rate_too(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_caller root = stage_caller("root@1");
	struct atlock_pull_name pull;
	struct atlock_name project;
	uint64_t ticket;

	assert_int_equal(atlock_pull_parse("pulls/h/a/b/-/1", &pull, NULL), 0);
	assert_int_equal(atlock_project_parse(&pull, "d/-/w", &project, NULL), 0);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_LOW, &ticket), 0);
	/* One after the other, as many as there may be. */
	stage_configure(s, "rate_limit", "6");
	assert_int_equal(atlock_shared_make(s->al, "db", &bob, &s->why), 0);
	assert_int_equal(atlock_app_add(s->al, "db", "web", &bob, false, &s->why), 0);
	assert_int_equal(atlock_app_write(s->al, "db", "web", &bob, "UP", 2, &s->why), 0);
	assert_int_equal(atlock_project_set(s->al, &bob, &pull, &project, "planned", 7, &s->why), 0);
	assert_int_equal(atlock_pull_write(s->al, &bob, &pull, ATLOCK_PULL_META, "k=v\n", 4, false, &s->why), 0);
	struct atlock_request *req = stage_ask(s, "global/a", "bob@1");
	req->priority = ATLOCK_HIGH;
	assert_int_equal(atlock_reprioritise(s->al, req, ticket, &s->why), 0);
	refused(s, atlock_shared_make(s->al, "db2", &bob, &s->why), -EAGAIN, ATLOCK_RATE_LIMIT, "rate_limit");
	refused(s, atlock_app_add(s->al, "db", "api", &bob, false, &s->why), -EAGAIN, ATLOCK_RATE_LIMIT, "rate_limit");
	refused(s, atlock_app_write(s->al, "db", "web", &bob, "DOWN", 4, &s->why), -EAGAIN, ATLOCK_RATE_LIMIT,
		"6 calls");
	refused(s, atlock_project_set(s->al, &bob, &pull, &project, "applied", 7, &s->why), -EAGAIN, ATLOCK_RATE_LIMIT,
		"bob");
	refused(s, atlock_pull_write(s->al, &bob, &pull, ATLOCK_PULL_META, "k=w\n", 4, false, &s->why), -EAGAIN,
		ATLOCK_RATE_LIMIT, "rate_limit");
	req = stage_ask(s, "global/a", "bob@1");
	req->priority = ATLOCK_LOW;
	refused(s, atlock_reprioritise(s->al, req, ticket, &s->why), -EAGAIN, ATLOCK_RATE_LIMIT, "rate_limit");
	assert_int_equal(atlock_app_write(s->al, "db", "web", &root, "DOWN", 4, &s->why), 0);
	/* What removes is free. */
	assert_int_equal(atlock_app_remove(s->al, "db", "web", &bob, &s->why), 0);
	assert_int_equal(atlock_shared_remove(s->al, "db", &bob, &s->why), 0);
	assert_int_equal(atlock_project_drop(s->al, &bob, &pull, &project, &s->why), 0);
	assert_int_equal(atlock_pull_clear(s->al, &bob, &pull, ATLOCK_PULL_META, &s->why), 0);
	assert_int_equal(atlock_pull_close(s->al, &bob, &pull, NULL, &s->why), 0);
}

static void directories_are_counted(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_caller root = stage_caller("root@1");
	struct atlock_dir a;

	stage_configure(s, "max_dirs", "2");
	stage_configure(s, "dirs_share", "100");
	assert_int_equal(atlock_dir_make(s->al, 0, "a", &bob, 0755, 1, &a, &s->why), 0);
	assert_int_equal(atlock_dir_make(s->al, a.id, "b", &bob, 0755, 1, NULL, &s->why), 0);
	refused(s, atlock_dir_make(s->al, 0, "c", &bob, 0755, 1, NULL, &s->why), -EDQUOT, ATLOCK_QUOTA, "max_dirs");
	assert_int_equal(atlock_dir_make(s->al, 0, "d", &root, 0755, 1, NULL, &s->why), 0);
	assert_int_equal(atlock_dir_remove(s->al, 0, "d", NULL, &s->why), 0);
	assert_int_equal(atlock_dir_remove(s->al, a.id, "b", NULL, &s->why), 0);
	stage_reopen(s);
	assert_int_equal(atlock_dir_make(s->al, 0, "c", &bob, 0755, 1, NULL, &s->why), 0);
	refused(s, atlock_dir_make(s->al, 0, "e", &bob, 0755, 1, NULL, &s->why), -EDQUOT, ATLOCK_QUOTA,
		"2 directories");
}

static void a_user_has_a_share_of_the_directories(void **state)
{
	struct stage *s = *state;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_caller carol = stage_caller("carol@1");
	char name[8];

	carol.uid = bob.uid + 1;
	stage_configure(s, "max_dirs", "40");
	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof(name), "b%d", i);
		assert_int_equal(atlock_dir_make(s->al, 0, name, &bob, 0755, 1, NULL, &s->why), 0);
	}
	refused(s, atlock_dir_make(s->al, 0, "more", &bob, 0755, 1, NULL, &s->why), -EDQUOT, ATLOCK_QUOTA,
		"dirs_share");
	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof(name), "c%d", i);
		assert_int_equal(atlock_dir_make(s->al, 0, name, &carol, 0755, 1, NULL, &s->why), 0);
	}
	/* A user who removed one is counted again. */
	assert_int_equal(atlock_dir_remove(s->al, 0, "b0", NULL, &s->why), 0);
	stage_advance(s, 11);
	assert_int_equal(atlock_dir_make(s->al, 0, "more", &bob, 0755, 1, NULL, &s->why), 0);
	refused(s, atlock_dir_make(s->al, 0, "again", &bob, 0755, 1, NULL, &s->why), -EDQUOT, ATLOCK_QUOTA,
		"dirs_share");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(locks_of_a_user_are_counted_whatever_the_who),
		STAGED(what_is_waited_for_counts_as_held),
		STAGED(counts_follow_what_is_held),
		STAGED(lock_is_not_given_to_who_has_enough),
		STAGED(gifts_leave_a_user_most_of_the_quota),
		STAGED(waits_of_a_user_are_counted),
		STAGED(queue_has_places_for_several_users),
		STAGED(short_queue_has_one_place_for_a_user),
		STAGED(calls_above_the_rate_are_refused_until_time_passes),
		cmocka_unit_test(rates_are_of_users_and_not_of_remainders),
		STAGED(shared_resources_pulls_and_priorities_are_under_the_rate_too),
		STAGED(directories_are_counted),
		STAGED(a_user_has_a_share_of_the_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
