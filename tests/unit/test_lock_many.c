/*
 * Calls about many locks at once: all or nothing, everything of a pull request, everything of a holder, and listing.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

static int acquire_three(struct stage *s, const char *as, struct atlock_grant grants[3], size_t *failed)
{
	struct atlock_request reqs[3] = {
		*stage_ask(s, "global/a", as),
		*stage_ask(s, "global/b", as),
		*stage_ask(s, "repos/r/-/d/-/w", as),
	};

	return atlock_acquire_all(s->al, reqs, 3, grants, failed, &s->why);
}

static void all_free_locks_are_taken_in_one_commit(void **state)
{
	struct stage *s = *state;
	struct atlock_grant grants[3];
	uint64_t before = stage_commits(s);

	assert_int_equal(acquire_three(s, "alice@1", grants, NULL), 0);
	assert_int_equal(stage_commits(s), before + 1);
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	assert_string_equal(stage_holder(s, "repos/r/-/d/-/w"), "alice@1");
	assert_true(grants[0].token < grants[1].token && grants[1].token < grants[2].token);
	assert_string_equal(stage_events(s), "acquired acquired acquired");
}

static void one_refusal_takes_none(void **state)
{
	struct stage *s = *state;
	struct atlock_grant grants[3];
	size_t failed = 99;

	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 60), 0);
	uint64_t before = stage_commits(s);
	assert_int_equal(acquire_three(s, "alice@1", grants, &failed), -EACCES);
	assert_int_equal(failed, 1);
	assert_non_null(strstr(s->why.text, "global/b"));
	assert_int_equal(stage_commits(s), before);
	assert_string_equal(stage_holder(s, "global/a"), "free");
}

static void locks_held_already_count_as_taken(void **state)
{
	struct stage *s = *state;
	struct atlock_grant grants[3];

	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 60), 0);
	assert_int_equal(acquire_three(s, "alice@1", grants, NULL), 0);
	assert_int_equal(grants[1].token, s->grant.token);
	assert_int_equal(acquire_three(s, "alice@1", grants, NULL), 0);
}

static void one_bad_request_takes_none(void **state)
{
	struct stage *s = *state;
	struct atlock_request reqs[2] = { *stage_ask(s, "global/a", "alice@1"), *stage_ask(s, "global/b", "alice@1") };
	uint64_t before = stage_commits(s);
	size_t failed = 99;

	reqs[1].ttl = -1;
	assert_int_equal(atlock_acquire_all(s->al, reqs, 2, NULL, &failed, &s->why), -EINVAL);
	assert_int_equal(failed, 1);
	assert_int_equal(stage_commits(s), before);
}

/* A failed commit takes back all of them. */
static void failed_commit_takes_none(void **state)
{
	struct stage *s = *state;
	struct atlock_grant grants[3];

	*mem_world_faults(s->world) = (struct mem_faults){ .fail_in = 1, .fail_error = EIO };
	assert_int_equal(acquire_three(s, "alice@1", grants, NULL), -EIO);
	assert_int_equal(s->why.code, ATLOCK_BACKEND_ERROR);
	assert_string_equal(stage_holder(s, "global/a"), "free");
	assert_string_equal(stage_holder(s, "global/b"), "free");
}

static int close_pull(struct stage *s, const char *who, const char *repo, size_t *released)
{
	struct atlock_caller caller = stage_caller(who);
	struct atlock_pull parts = { .host = "github.com", .num = 5 };
	struct atlock_pull_name pull;

	strlcpy(parts.repo, repo, sizeof(parts.repo));
	assert_int_equal(atlock_pull_join(&parts, &pull, &s->why), 0);
	return atlock_pull_close(s->al, &caller, &pull, released, &s->why);
}

/* Atlantis scans by a prefix of the repository's name and compares the number alone. */
static void closing_a_pull_request_frees_exactly_its_locks(void **state)
{
	static const char *const others[] = {
		"repos/org/app-infra/-/d/-/w",
		"repos/org/app/sub/-/d/-/w",
		"repos/org/-/app/-/w",
		"repos/ORG/app/-/d/-/w",
	};
	struct stage *s = *state;
	size_t released = 99;

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(stage_acquire(s, others[i], "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/org/app/-/d/-/one", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/org/app/-/e/f/-/two:vpc", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/org/app/-/d/-/three", "alice@pr:55", 0), 0);
	assert_int_equal(stage_acquire(s, "global/pr-5", "alice@pr:5", 0), 0);

	assert_int_equal(close_pull(s, "alice@any", "org/app", &released), 0);
	assert_int_equal(released, 2);
	assert_string_equal(stage_holder(s, "repos/org/app/-/d/-/one"), "free");
	assert_string_equal(stage_holder(s, "repos/org/app/-/e/f/-/two:vpc"), "free");
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(stage_holder(s, others[i]), "alice@pr:5");
	assert_string_equal(stage_holder(s, "repos/org/app/-/d/-/three"), "alice@pr:55");
	assert_string_equal(stage_holder(s, "global/pr-5"), "alice@pr:5");
	assert_int_equal(close_pull(s, "alice@any", "org/app", &released), 0);
	assert_int_equal(released, 0);
}

static void administrator_closes_the_pull_requests_of_all(void **state)
{
	struct stage *s = *state;
	size_t released;

	assert_int_equal(stage_acquire(s, "repos/org/app/-/d/-/1", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/org/app/-/d/-/2", "bob@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/org/app/-/d/-/3", "carol@pr:6", 0), 0);
	assert_int_equal(close_pull(s, "root@any", "org/app", &released), 0);
	assert_int_equal(released, 2);
	assert_string_equal(stage_holder(s, "repos/org/app/-/d/-/3"), "carol@pr:6");
}

/* Waits of the one who leaves go first, so that nothing is handed to it on its way out. */
static void closing_a_pull_request_cancels_its_waits_and_hands_over(void **state)
{
	struct stage *s = *state;
	struct told *mine = stage_told(s);
	struct told *next = stage_told(s);
	struct told *elsewhere = stage_told(s);
	size_t released;

	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/1", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/2", "bob@1", 60), 0);
	assert_int_equal(stage_acquire(s, "repos/b/-/d/-/2", "bob@1", 60), 0);
	assert_int_equal(stage_wait(s, "repos/a/-/d/-/2", "alice@pr:5", ATLOCK_NORMAL, mine, NULL), 1);
	assert_int_equal(stage_wait(s, "repos/b/-/d/-/2", "alice@pr:5", ATLOCK_NORMAL, elsewhere, NULL), 1);
	assert_int_equal(stage_wait(s, "repos/a/-/d/-/1", "carol@1", ATLOCK_NORMAL, next, NULL), 1);
	assert_int_equal(close_pull(s, "alice@any", "a", &released), 0);
	assert_int_equal(released, 1);
	assert_int_equal(mine->times, 1);
	assert_int_equal(mine->err, -ECANCELED);
	assert_int_equal(next->times, 1);
	assert_int_equal(next->err, 0);
	assert_int_equal(elsewhere->times, 0);
	assert_string_equal(stage_holder(s, "repos/a/-/d/-/1"), "carol@1");
}

static void leaving_holder_leaves_everything(void **state)
{
	struct stage *s = *state;
	struct told *told = stage_told(s);
	struct atlock_caller alice = stage_caller("alice@1");
	size_t released;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "repos/r/-/d/-/w", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/c", "alice@2", 60), 0);
	assert_int_equal(stage_enqueue(s, "global/c", "alice@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_wait(s, "global/c", "alice@1", ATLOCK_NORMAL, told, NULL), 1);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(atlock_release_holder(s->al, &alice, &released, &s->why), 0);
	assert_int_equal(released, 2);
	assert_int_equal(told->err, -ECANCELED);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
	assert_string_equal(stage_holder(s, "repos/r/-/d/-/w"), "free");
	assert_string_equal(stage_holder(s, "global/c"), "alice@2");
	assert_string_equal(stage_queue(s, "global/c"), "");
}

/* --- Listing --- */

struct listing {
	struct stage *s;
	size_t stop_after;
	size_t count;
	char text[4096];
};

static int list_add(void *arg, const struct atlock_view *view)
{
	struct listing *listing = arg;
	char path[ATLOCK_PATH_MAX];

	assert_int_equal(atlock_name_print(listing->s->al, &view->name, path, sizeof(path)), 0);
	(void)strlcat(listing->text, path, sizeof(listing->text));
	(void)strlcat(listing->text, " ", sizeof(listing->text));
	return ++listing->count == listing->stop_after;
}

/* Which of the locks below a query shows. */
static void list_is(struct stage *s, struct atlock_query query, const char *expected)
{
	struct listing listing = { .s = s };

	assert_int_equal(atlock_list(s->al, &query, list_add, &listing), 0);
	assert_string_equal(listing.text, expected);
}

static void list_shows_what_every_given_field_matches(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/1", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/2", "bob@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/a-b/-/d/-/1", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "global/apply", "alice@1", 60), 0);
	list_is(s, (struct atlock_query){ .prefix = NULL },
		"global/apply repos/a-b/-/d/-/1 repos/a/-/d/-/1 repos/a/-/d/-/2 ");
	list_is(s, (struct atlock_query){ .prefix = "repos/a/" }, "repos/a/-/d/-/1 repos/a/-/d/-/2 ");
	list_is(s, (struct atlock_query){ .prefix = "global/" }, "global/apply ");
	list_is(s, (struct atlock_query){ .owner = "bob" }, "repos/a/-/d/-/2 ");
	list_is(s, (struct atlock_query){ .owner = "bo" }, "");
	list_is(s, (struct atlock_query){ .owner = "alice", .who = "1" }, "global/apply ");
	list_is(s, (struct atlock_query){ .pull_repo = "a", .pull_num = 5 }, "repos/a/-/d/-/1 repos/a/-/d/-/2 ");
	list_is(s, (struct atlock_query){ .pull_repo = "a", .pull_num = 55 }, "");
	list_is(s, (struct atlock_query){ .pull_repo = "a", .pull_num = 5, .owner = "bob" }, "repos/a/-/d/-/2 ");
}

static void list_does_not_show_what_has_expired(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 10), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 20), 0);
	stage_advance(s, 11);
	list_is(s, (struct atlock_query){ .prefix = NULL }, "global/b ");
}

static void list_goes_on_where_a_page_ended(void **state)
{
	struct stage *s = *state;
	struct atlock_query query = { .limit = 2 };
	struct listing listing = { .s = s };
	char name[16] = "global/0";

	for (name[7] = '0'; name[7] < '5'; name[7]++)
		assert_int_equal(stage_acquire(s, name, "alice@1", 60), 0);
	assert_int_equal(atlock_list(s->al, &query, list_add, &listing), 1);
	assert_string_equal(listing.text, "global/0 global/1 ");
	/* What goes and comes in between does not disturb. */
	assert_int_equal(stage_release(s, "global/1", "alice@1"), 0);
	assert_int_equal(atlock_list(s->al, &query, list_add, &listing), 1);
	assert_int_equal(atlock_list(s->al, &query, list_add, &listing), 0);
	assert_string_equal(listing.text, "global/0 global/1 global/2 global/3 global/4 ");
}

static void list_stops_when_told(void **state)
{
	struct stage *s = *state;
	struct atlock_query query = { .limit = 0 };
	struct listing listing = { .s = s, .stop_after = 1 };

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 60), 0);
	assert_int_equal(atlock_list(s->al, &query, list_add, &listing), 1);
	assert_string_equal(listing.text, "global/a ");
}

static int child_add(void *arg, const char *component, const struct atlock_view *view)
{
	struct listing *listing = arg;

	(void)strlcat(listing->text, component, sizeof(listing->text));
	(void)strlcat(listing->text, view == NULL ? "/ " : " ", sizeof(listing->text));
	return 0;
}

static void children_print(struct stage *s, const char *dir, const char *expected)
{
	struct listing listing = { .s = s };

	assert_int_equal(atlock_children(s->al, dir, NULL, child_add, &listing), 0);
	assert_string_equal(listing.text, expected);
}

static void directory_shows_what_is_directly_below(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/1", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "repos/a/-/d/-/2:p", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "repos/a/b/-/d/-/1", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "repos/a-b/-/d/-/1", "alice@1", 10), 0);
	assert_int_equal(stage_acquire(s, "global/apply", "alice@1", 60), 0);
	children_print(s, "repos", "a-b/ a/ ");
	children_print(s, "repos/a", "-/ b/ ");
	children_print(s, "repos/a/-/d/-", "1 2:p ");
	children_print(s, "global", "apply ");
	children_print(s, "repos/nothing", "");
	stage_advance(s, 11);
	children_print(s, "repos", "a/ ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(all_free_locks_are_taken_in_one_commit),
		STAGED(one_refusal_takes_none),
		STAGED(locks_held_already_count_as_taken),
		STAGED(one_bad_request_takes_none),
		STAGED(failed_commit_takes_none),
		STAGED(closing_a_pull_request_frees_exactly_its_locks),
		STAGED(administrator_closes_the_pull_requests_of_all),
		STAGED(closing_a_pull_request_cancels_its_waits_and_hands_over),
		STAGED(leaving_holder_leaves_everything),
		STAGED(list_shows_what_every_given_field_matches),
		STAGED(list_does_not_show_what_has_expired),
		STAGED(list_goes_on_where_a_page_ended),
		STAGED(list_stops_when_told),
		STAGED(directory_shows_what_is_directly_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
