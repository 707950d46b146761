/* What atlock top shows of what it read: which rows, in which order, and that the chosen one stays chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "top_list.h"

/* "name who waiters" of a lock each, held for as many minutes as its place from the end. */
static struct top_model *locks(const char *const *rows, size_t count)
{
	struct top_model *model = top_model_new();

	assert_non_null(model);
	for (size_t i = 0; i < count; i++) {
		char name[64];
		char who[64];
		char time[32];
		char id[160];
		int waiters;
		json_t *object;

		assert_int_equal(sscanf(rows[i], "%63s %63s %d", name, who, &waiters), 3);
		(void)snprintf(time, sizeof(time), "2026-11-16T10:%02zu:00.000Z", i);
		(void)snprintf(id, sizeof(id), "lock_%s_%s", name, who);
		object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:{s:s}}", "kind", "lock", "lock",
				   name, "owner", "alice", "who", who, "id", id, "uid", 7, "waiters", waiters,
				   "acquired_at", time, "expires_at", "never", "meta", "reason", "because");
		assert_non_null(object);
		assert_int_equal(top_model_add(model, object), 0);
		json_decref(object);
	}
	return model;
}

static void waiter_add(struct top_model *model, const char *lock, const char *who, int ticket, const char *priority,
		       int position)
{
	json_t *object = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:i, s:s, s:s}", "kind", "waiter", "lock", lock,
				   "ticket", ticket, "owner", "bob", "who", who, "priority", priority, "position",
				   position, "since", "2026-11-16T10:00:00.000Z", "deadline", "2026-11-16T11:00:00Z");

	assert_non_null(object);
	assert_int_equal(top_model_add(model, object), 0);
	json_decref(object);
}

/* The locks in the order of the list, the chosen one in brackets. */
static void assert_shown(const struct top_list *list, const char *wanted)
{
	char text[512] = "";

	for (size_t i = 0; i < list->count; i++) {
		bool chosen = list->rows[i] == top_list_chosen(list);

		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s%s", i == 0 ? "" : " ",
			       chosen ? "[" : "", list->rows[i]->lock, chosen ? "]" : "");
	}
	assert_string_equal(text, wanted);
}

/* The waiters, likewise. */
static void assert_waiting(const struct top_list *list, const char *wanted)
{
	char text[512] = "";

	for (size_t i = 0; i < list->count; i++) {
		bool chosen = list->rows[i] == top_list_chosen(list);

		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s%s", i == 0 ? "" : " ",
			       chosen ? "[" : "", list->rows[i]->who, chosen ? "]" : "");
	}
	assert_string_equal(text, wanted);
}

static struct top_list shown;
static struct top_model *current;

static int teardown(void **state)
{
	(void)state;
	top_list_clear(&shown);
	top_model_free(current);
	current = NULL;
	return 0;
}

static void show(enum top_view view, struct top_model *next)
{
	if (shown.rows == NULL && current == NULL)
		top_list_init(&shown, view);
	assert_int_equal(top_list_update(&shown, next), 0);
	if (next != current)
		top_model_free(current);
	current = next;
}

static void sort_by(const char *column, bool reverse)
{
	shown.column = top_column_find(shown.view, column);
	assert_true(shown.column < TOP_COLUMNS);
	shown.reverse = reverse;
	show(shown.view, current);
}

static const char *const four[] = { "d x 0", "b y 2", "a z 1", "c w 2" };

static void what_is_waited_for_most_comes_first(void **state)
{
	(void)state;
	show(TOP_LOCKS, locks(four, 4));
	assert_shown(&shown, "[b] c a d");
}

static void each_column_sorts_and_reverses(void **state)
{
	(void)state;
	show(TOP_LOCKS, locks(four, 4));
	sort_by("lock", false);
	assert_shown(&shown, "a [b] c d");
	sort_by("LOCK", true);
	assert_shown(&shown, "d c [b] a");
	sort_by("who", false);
	assert_shown(&shown, "c d [b] a");
	sort_by("held", false);
	assert_shown(&shown, "d [b] a c");
	sort_by("held", true);
	assert_shown(&shown, "c a [b] d");
	/* All alike: by lock, also when reversed. */
	sort_by("left", true);
	assert_shown(&shown, "a [b] c d");
	sort_by("owner", false);
	assert_shown(&shown, "a [b] c d");
	assert_int_equal(top_column_find(TOP_LOCKS, "ticket"), TOP_COLUMNS);
}

static void the_chosen_lock_stays_chosen_wherever_it_goes(void **state)
{
	static const char *const later[] = { "c v 9", "d x 0", "b y 2", "e u 5", "a z 1" };

	(void)state;
	show(TOP_LOCKS, locks(four, 4));
	top_list_move(&shown, 1);
	assert_shown(&shown, "b [c] a d");
	show(TOP_LOCKS, locks(later, 5));
	assert_shown(&shown, "[c] e b a d");
	sort_by("LOCK", false);
	assert_shown(&shown, "a b [c] d e");
}

static void in_the_place_of_what_is_gone_comes_the_next(void **state)
{
	static const char *const without_c[] = { "d x 0", "b y 2", "a z 1" };
	static const char *const without_d[] = { "b y 2", "a z 1" };

	(void)state;
	show(TOP_LOCKS, locks(four, 4));
	top_list_move(&shown, 1);
	show(TOP_LOCKS, locks(without_c, 3));
	assert_shown(&shown, "b [a] d");
	top_list_move(&shown, 1);
	show(TOP_LOCKS, locks(without_d, 2));
	assert_shown(&shown, "b [a]");
	show(TOP_LOCKS, locks(NULL, 0));
	assert_shown(&shown, "");
	assert_null(top_list_chosen(&shown));
	show(TOP_LOCKS, locks(four, 4));
	assert_non_null(top_list_chosen(&shown));
}

static void what_was_released_is_gone_before_the_next_look(void **state)
{
	struct top_row *row;

	(void)state;
	show(TOP_LOCKS, locks(four, 4));
	row = top_row_copy(top_list_chosen(&shown));
	assert_non_null(row);
	assert_string_equal(row->lock, "b");
	assert_string_equal(row->reason, "because");
	top_model_drop(current, row);
	show(TOP_LOCKS, current);
	assert_shown(&shown, "[c] a d");
	free(row);
}

static void moving_stops_at_the_ends(void **state)
{
	(void)state;
	show(TOP_LOCKS, locks(four, 4));
	top_list_move(&shown, -3);
	assert_shown(&shown, "[b] c a d");
	top_list_move(&shown, 2);
	assert_shown(&shown, "b c [a] d");
	top_list_move(&shown, 40);
	assert_shown(&shown, "b c a [d]");
	top_list_move(&shown, -1);
	assert_shown(&shown, "b c [a] d");
	top_list_move(&shown, -4);
	assert_shown(&shown, "[b] c a d");
}

static void a_page_shows_what_is_chosen(void **state)
{
	(void)state;
	show(TOP_LOCKS, locks(four, 4));
	top_list_page(&shown, 2);
	assert_int_equal(shown.first, 0);
	top_list_move(&shown, 2);
	top_list_page(&shown, 2);
	assert_int_equal(shown.first, 1);
	top_list_move(&shown, -1);
	top_list_page(&shown, 2);
	assert_int_equal(shown.first, 1);
	top_list_move(&shown, -1);
	top_list_page(&shown, 2);
	assert_int_equal(shown.first, 0);
	/* A larger page leaves nothing empty that could be filled. */
	top_list_move(&shown, 4);
	top_list_page(&shown, 2);
	top_list_page(&shown, 3);
	assert_int_equal(shown.first, 1);
	top_list_page(&shown, 0);
	top_list_page(&shown, 9);
	assert_int_equal(shown.first, 0);
}

static void a_text_leaves_what_has_it(void **state)
{
	static const char *const rows[] = { "repos/Acme x 0", "custom/b Build 0", "custom/c x 0" };

	(void)state;
	show(TOP_LOCKS, locks(rows, 3));
	top_list_move(&shown, 1);
	(void)strcpy(shown.filter, "acme");
	show(TOP_LOCKS, current);
	assert_shown(&shown, "[repos/Acme]");
	(void)strcpy(shown.filter, "BUI");
	show(TOP_LOCKS, current);
	assert_shown(&shown, "[custom/b]");
	(void)strcpy(shown.filter, "alice");
	show(TOP_LOCKS, current);
	assert_shown(&shown, "[custom/b] custom/c repos/Acme");
	(void)strcpy(shown.filter, "nowhere");
	show(TOP_LOCKS, current);
	assert_shown(&shown, "");
	shown.filter[0] = '\0';
	show(TOP_LOCKS, current);
	assert_int_equal(shown.count, 3);
}

static void waiters_stand_in_the_order_of_service(void **state)
{
	struct top_model *next = locks(four, 1);

	(void)state;
	waiter_add(next, "b", "second", 12, "normal", 2);
	waiter_add(next, "b", "first", 13, "high", 1);
	waiter_add(next, "a", "other", 11, "low", 1);
	show(TOP_QUEUE, next);
	assert_waiting(&shown, "[other] first second");
	assert_int_equal(shown.rows[1]->priority, ATLOCK_HIGH);
	assert_int_equal(shown.rows[1]->ticket, 13);
	sort_by("priority", false);
	assert_waiting(&shown, "first second [other]");
	sort_by("ticket", false);
	assert_waiting(&shown, "[other] second first");
}

/* A ticket gets another number with another priority. */
static void a_waiter_stays_chosen_with_another_ticket(void **state)
{
	struct top_model *next = locks(four, 1);

	(void)state;
	waiter_add(next, "b", "one", 12, "normal", 1);
	waiter_add(next, "b", "two", 13, "normal", 2);
	show(TOP_QUEUE, next);
	top_list_move(&shown, 1);
	assert_waiting(&shown, "one [two]");
	next = locks(four, 1);
	waiter_add(next, "b", "two", 14, "critical", 1);
	waiter_add(next, "b", "one", 12, "normal", 2);
	show(TOP_QUEUE, next);
	assert_waiting(&shown, "[two] one");
}

static void a_model_knows_which_locks_it_has(void **state)
{
	(void)state;
	current = locks(four, 4);
	for (size_t i = 0; i < 4; i++) {
		char name[2] = { four[i][0], '\0' };

		assert_true(top_model_has(current, name));
	}
	assert_false(top_model_has(current, "e"));
	waiter_add(current, "b", "one", 12, "normal", 1);
	assert_false(top_model_has(current, "one"));
	top_model_free(current);
	current = locks(NULL, 0);
	assert_false(top_model_has(current, "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_is_waited_for_most_comes_first, teardown),
		cmocka_unit_test_teardown(each_column_sorts_and_reverses, teardown),
		cmocka_unit_test_teardown(the_chosen_lock_stays_chosen_wherever_it_goes, teardown),
		cmocka_unit_test_teardown(in_the_place_of_what_is_gone_comes_the_next, teardown),
		cmocka_unit_test_teardown(what_was_released_is_gone_before_the_next_look, teardown),
		cmocka_unit_test_teardown(moving_stops_at_the_ends, teardown),
		cmocka_unit_test_teardown(a_page_shows_what_is_chosen, teardown),
		cmocka_unit_test_teardown(a_text_leaves_what_has_it, teardown),
		cmocka_unit_test_teardown(waiters_stand_in_the_order_of_service, teardown),
		cmocka_unit_test_teardown(a_waiter_stays_chosen_with_another_ticket, teardown),
		cmocka_unit_test_teardown(a_model_knows_which_locks_it_has, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
