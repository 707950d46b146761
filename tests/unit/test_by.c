/* What is held by owner, by who and by host: groups, their locks, and the index that both are read from. */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

struct text {
	struct atlock *al;
	char text[2048];
	char id[ATLOCK_ID_MAX]; /* of the last lock shown */
};

static int group_add(void *arg, const char *component)
{
	struct text *text = arg;

	(void)strlcat(text->text, component, sizeof(text->text));
	(void)strlcat(text->text, " ", sizeof(text->text));
	return 0;
}

static int lock_add(void *arg, const struct atlock_view *view)
{
	struct text *text = arg;
	char path[ATLOCK_PATH_MAX];

	assert_int_equal(atlock_name_print(text->al, &view->name, path, sizeof(path)), 0);
	atlock_by_id(view, text->id);
	return group_add(arg, path);
}

static void groups_are(struct stage *s, enum atlock_by by, const char *expected)
{
	struct text text = { .al = s->al };

	assert_int_equal(atlock_by_groups(s->al, by, NULL, group_add, &text), 0);
	assert_string_equal(text.text, expected);
}

static void locks_are(struct stage *s, enum atlock_by by, const char *component, const char *expected)
{
	struct text text = { .al = s->al };

	assert_int_equal(atlock_by_list(s->al, by, component, NULL, lock_add, &text), 0);
	assert_string_equal(text.text, expected);
}

static void groups_are_those_who_hold_now(void **state)
{
	struct stage *s = *state;

	groups_are(s, ATLOCK_BY_OWNER, "");
	groups_are(s, ATLOCK_BY_WHO, "");
	groups_are(s, ATLOCK_BY_HOST, "");
	assert_int_equal(stage_acquire(s, "global/a", "bob@2", 60), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@2", 10), 0);
	assert_int_equal(stage_acquire(s, "global/c", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/d", "alice@pr:5", 0), 0);
	groups_are(s, ATLOCK_BY_OWNER, "alice bob ");
	groups_are(s, ATLOCK_BY_WHO, "1 2 pr:5 ");
	locks_are(s, ATLOCK_BY_WHO, "2", "global/b global/a ");
	locks_are(s, ATLOCK_BY_OWNER, "alice", "global/c global/b global/d ");
	locks_are(s, ATLOCK_BY_OWNER, "alic", "");
	/* Over at this instant, though nobody has swept. */
	stage_advance(s, 11);
	locks_are(s, ATLOCK_BY_WHO, "2", "global/a ");
	assert_int_equal(stage_release(s, "global/a", "bob@2"), 0);
	groups_are(s, ATLOCK_BY_OWNER, "alice ");
	groups_are(s, ATLOCK_BY_WHO, "1 pr:5 ");
	assert_int_equal(stage_transfer(s, "global/c", "alice@1", "carol@7"), 0);
	groups_are(s, ATLOCK_BY_OWNER, "alice carol ");
	locks_are(s, ATLOCK_BY_WHO, "7", "global/c ");
	stage_advance(s, 100);
	groups_are(s, ATLOCK_BY_OWNER, "alice ");
}

static void one_host_has_all_of_a_stage(void **state)
{
	struct stage *s = *state;
	struct text text = { .al = s->al };

	assert_int_equal(stage_acquire(s, "global/a", "bob@2", 60), 0);
	assert_int_equal(stage_acquire(s, "repos/a/-/-/w", "alice@2", 60), 0);
	assert_int_equal(atlock_by_groups(s->al, ATLOCK_BY_HOST, NULL, group_add, &text), 0);
	assert_true(strlen(text.text) > 1 && strchr(text.text, ' ') == text.text + strlen(text.text) - 1);
	text.text[strlen(text.text) - 1] = '\0';
	locks_are(s, ATLOCK_BY_HOST, text.text, "repos/a/-/-/w global/a ");
	locks_are(s, ATLOCK_BY_HOST, "elsewhere", "");
}

static void a_who_that_is_no_component_is_escaped(void **state)
{
	struct stage *s = *state;

	assert_int_equal(stage_acquire(s, "global/a", "alice@.", 60), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@a/b", 60), 0);
	assert_int_equal(stage_acquire(s, "global/c", "alice@x%2Fy", 60), 0);
	groups_are(s, ATLOCK_BY_WHO, "%2E a%2Fb x%2Fy ");
	locks_are(s, ATLOCK_BY_WHO, "%2E", "global/a ");
	locks_are(s, ATLOCK_BY_WHO, "a%2Fb", "global/b ");
	locks_are(s, ATLOCK_BY_WHO, "x%2Fy", "global/c ");
	assert_int_equal(atlock_by_check("a%2fb", &s->why), -EINVAL);
	assert_non_null(strstr(s->why.text, "a%2Fb"));
	assert_int_equal(atlock_by_check("", &s->why), -EINVAL);
	assert_int_equal(atlock_by_check("-", &s->why), -EINVAL);
}

static void a_lock_is_found_by_its_id(void **state)
{
	struct stage *s = *state;
	struct text text = { .al = s->al };
	struct atlock_view view;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@2", 60), 0);
	assert_int_equal(atlock_by_list(s->al, ATLOCK_BY_WHO, "2", NULL, lock_add, &text), 0);
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_OWNER, "alice", text.id, &view), 0);
	assert_string_equal(view.who, "2");
	atlock_view_clear(&view);
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_OWNER, "bob", text.id, &view), 1);
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_WHO, "1", text.id, &view), 1);
	text.id[strlen(text.id) - 1] ^= 1;
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_OWNER, "alice", text.id, &view), 1);
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_OWNER, "alice", "lock_", &view), 1);
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_OWNER, "alice", "", &view), 1);
}

/* Pages of a holder's locks go on in the order of all listings, whatever was taken first. */
static void pages_of_a_holder_go_on(void **state)
{
	struct stage *s = *state;
	struct atlock_query query = { .owner = "alice", .limit = 2 };
	struct text text = { .al = s->al };
	char name[16] = "global/5";

	for (name[7] = '5'; name[7] > '0'; name[7]--)
		assert_int_equal(stage_acquire(s, name, name[7] % 2 ? "alice@1" : "alice@2", 60), 0);
	assert_int_equal(stage_acquire(s, "global/0", "bob@1", 60), 0);
	assert_int_equal(atlock_list(s->al, &query, lock_add, &text), 1);
	assert_int_equal(atlock_list(s->al, &query, lock_add, &text), 1);
	assert_int_equal(atlock_list(s->al, &query, lock_add, &text), 0);
	assert_string_equal(text.text, "global/1 global/2 global/3 global/4 global/5 ");
	text.text[0] = '\0';
	query = (struct atlock_query){ .owner = "alice", .who = "2", .prefix = "global/4" };
	assert_int_equal(atlock_list(s->al, &query, lock_add, &text), 0);
	assert_string_equal(text.text, "global/4 ");
}

/* What other holders have is not read: damage there does not show. */
static void a_holder_is_read_from_its_index(void **state)
{
	struct stage *s = *state;
	struct atlock_query query = { .owner = "alice" };
	struct text text = { .al = s->al };

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 60), 0);
	stage_put(s, (struct slice){ "lgb", 3 }, (struct slice){ "x", 1 });
	s->damaged = true;
	assert_int_equal(atlock_list(s->al, &query, lock_add, &text), 0);
	assert_string_equal(text.text, "global/a ");
	locks_are(s, ATLOCK_BY_OWNER, "alice", "global/a ");
	assert_int_equal(atlock_by_list(s->al, ATLOCK_BY_OWNER, "bob", NULL, lock_add, &text), -EIO);
}

static void a_lock_of_a_pull_request_says_so(void **state)
{
	struct stage *s = *state;
	struct atlock_view view;
	char value[32];
	char *text;

	assert_int_equal(stage_acquire(s, "repos/a/-/-/w", "alice@pr:5", 0), 0);
	assert_int_equal(stage_write(s, "repos/a/-/-/w", "alice@pr:5", "pull=7\nreason=x\n"), 0);
	view = stage_view(s, "repos/a/-/-/w");
	text = atlock_view_text(s->al, &view, NULL);
	assert_non_null(strstr(text, "\npull=5\nreason=x\n"));
	assert_null(strstr(text, "pull=7"));
	assert_int_equal(atlock_view_field(s->al, &view, "pull", value, sizeof(value)), 0);
	assert_string_equal(value, "5");
	free(text);
	atlock_view_clear(&view);
	/* Another holder's is what it wrote. */
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_write(s, "global/a", "alice@1", "pull=7\n"), 0);
	view = stage_view(s, "global/a");
	assert_int_equal(atlock_view_field(s->al, &view, "pull", value, sizeof(value)), 0);
	assert_string_equal(value, "7");
	atlock_view_clear(&view);
}

static void nothing_is_asked_of_nobody(void **state)
{
	struct stage *s = *state;
	struct text text = { .al = s->al };
	struct atlock_view view;

	assert_int_equal(atlock_by_groups(NULL, ATLOCK_BY_OWNER, NULL, group_add, &text), -EINVAL);
	assert_int_equal(atlock_by_groups(s->al, (enum atlock_by)3, NULL, group_add, &text), -EINVAL);
	assert_int_equal(atlock_by_groups(s->al, ATLOCK_BY_OWNER, NULL, NULL, &text), -EINVAL);
	assert_int_equal(atlock_by_list(s->al, ATLOCK_BY_OWNER, NULL, NULL, lock_add, &text), -EINVAL);
	assert_int_equal(atlock_by_list(s->al, ATLOCK_BY_OWNER, "a", NULL, NULL, &text), -EINVAL);
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_OWNER, "a", NULL, &view), -EINVAL);
	assert_int_equal(atlock_by_find(s->al, ATLOCK_BY_OWNER, "a", "x", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(groups_are_those_who_hold_now),
		STAGED(one_host_has_all_of_a_stage),
		STAGED(a_who_that_is_no_component_is_escaped),
		STAGED(a_lock_is_found_by_its_id),
		STAGED(pages_of_a_holder_go_on),
		STAGED(a_holder_is_read_from_its_index),
		STAGED(a_lock_of_a_pull_request_says_so),
		STAGED(nothing_is_asked_of_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
