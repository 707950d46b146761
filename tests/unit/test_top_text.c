/* The lines and cells of atlock top: how fast it goes, what fits where, and that no text can do harm to a terminal. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "moment.h"
#include "top.h"

static int utf8(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") == NULL;
}

static int ascii(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C") == NULL;
}

/* --- Texts --- */

static void assert_fits(const char *text, size_t width, enum top_cut cut, const char *wanted, size_t columns)
{
	char out[256];

	assert_int_equal(top_text_fit(text, width, cut, out, sizeof(out)), columns);
	assert_string_equal(out, wanted);
}

static void what_is_too_long_is_cut(void **state)
{
	(void)state;
	assert_fits("custom/a", 8, TOP_CUT_END, "custom/a", 8);
	assert_fits("custom/a", 7, TOP_CUT_END, "custom…", 7);
	assert_fits("custom/a", 7, TOP_CUT_FRONT, "…stom/a", 7);
	assert_fits("custom/a", 1, TOP_CUT_FRONT, "…", 1);
	assert_fits("custom/a", 0, TOP_CUT_END, "", 0);
	assert_fits("", 4, TOP_CUT_END, "", 0);
}

static void columns_are_counted_not_bytes(void **state)
{
	(void)state;
	assert_fits("ümläut", 6, TOP_CUT_END, "ümläut", 6);
	assert_fits("ümläut", 5, TOP_CUT_END, "ümlä…", 5);
	assert_fits("ümläut", 5, TOP_CUT_FRONT, "…läut", 5);
	/* Two columns each: half a character is none. */
	assert_fits("ロック", 6, TOP_CUT_END, "ロック", 6);
	assert_fits("ロック", 4, TOP_CUT_END, "ロ…", 3);
	assert_fits("ロック", 4, TOP_CUT_FRONT, "…ク", 3);
	/* A mark above the letter before it. */
	assert_fits("e\u0301a", 2, TOP_CUT_END, "e\u0301a", 2);
}

static void nothing_reaches_the_terminal_that_it_might_obey(void **state)
{
	/* Turns the direction of writing, twice, and has a blank of no width. */
	static const char bidirectional[] = { 'a',    '\xe2', '\x80', '\xae', 'b',    '\xe2', '\x81',
					      '\xa6', 'c',    '\xe2', '\x80', '\x8b', 'd',    '\0' };

	(void)state;
	assert_fits("a\033[2Jb", 20, TOP_CUT_END, "a?[2Jb", 6);
	assert_fits("a\nb\tc\177", 20, TOP_CUT_END, "a?b?c?", 6);
	assert_fits("a\xc2\x9b"
		    "b",
		    20, TOP_CUT_END, "a?b", 3);
	assert_fits(bidirectional, 20, TOP_CUT_END, "a?b?c?d", 7);
	assert_fits("a\xff\xc3", 20, TOP_CUT_END, "a??", 3);
	assert_int_equal(top_text_width("a\033b"), 3);
}

static void another_locale_gets_what_it_has(void **state)
{
	(void)state;
	assert_fits("\xc3\xbcx", 8, TOP_CUT_END, "??x", 3);
	assert_fits("custom/a", 5, TOP_CUT_END, "cust~", 5);
	assert_fits("custom/a", 5, TOP_CUT_FRONT, "~om/a", 5);
}

/* However small the space, nothing is written past it. */
static void no_space_is_too_small(void **state)
{
	char out[8];

	(void)state;
	for (size_t len = 1; len < sizeof(out); len++) {
		memset(out, 'x', sizeof(out));
		(void)top_text_fit("ümläutümläut", 5, TOP_CUT_FRONT, out, len);
		assert_true(strlen(out) < len);
		memset(out, 'x', sizeof(out));
		(void)top_text_fit("ümläutümläut", 5, TOP_CUT_END, out, len);
		assert_true(strlen(out) < len);
	}
}

static void lines_are_wrapped_and_end_where_they_end(void **state)
{
	static const char *const wanted[] = { "abc", "de", "", "fü", "ック" };
	const char *at = "abcde\n\nfü\nック";
	char out[32];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		at = top_text_piece(at, i < 4 ? 3 : 4, out, sizeof(out));
		assert_string_equal(out, wanted[i]);
	}
	assert_string_equal(at, "");
	/* Between words where that does not leave too much empty. */
	at = top_text_piece("two words more", 8, out, sizeof(out));
	assert_string_equal(out, "two");
	at = top_text_piece(at, 8, out, sizeof(out));
	assert_string_equal(out, "words");
	assert_string_equal(at, "more");
	at = top_text_piece("a bcdefghij", 8, out, sizeof(out));
	assert_string_equal(out, "a bcdefg");
	assert_string_equal(at, "hij");
	at = top_text_piece("two word more", 8, out, sizeof(out));
	assert_string_equal(out, "two word");
	assert_string_equal(at, "more");
	/* What never fits is passed over. */
	at = top_text_piece("ッa", 1, out, sizeof(out));
	assert_string_equal(at, "a");
}

static void ages_are_for_people(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = { { 0, "0s" },         { -5, "0s" },       { 59, "59s" },
		      { 60, "1m00s" },     { 1799, "29m59s" }, { 3600, "1h00m" },
		      { 86399, "23h59m" }, { 86400, "1d00h" }, { 1000000, "11d13h" } };
	char out[MOMENT_AGE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		moment_age(cases[i].seconds * ATLOCK_SECOND, out);
		assert_string_equal(out, cases[i].text);
	}
	moment_age(ATLOCK_NEVER, out);
	assert_string_equal(out, "-");
}

/* --- Rates --- */

static struct top_counts counts_at(int64_t seconds, int granted, const char *started)
{
	struct top_counts counts = { .at = seconds * ATLOCK_SECOND };
	char line[128];

	(void)snprintf(line, sizeof(line), "atlockfs_events_total{type=\"acquired\"} %d\n", granted);
	top_counts_take(&counts, line);
	(void)snprintf(line, sizeof(line), "atlockfs_start_time_seconds %s\n", started);
	top_counts_take(&counts, line);
	return counts;
}

static void metrics_are_added_up(void **state)
{
	static const char *const lines[] = {
		"# HELP atlockfs_locks_held Locks that are held.\n",
		"atlockfs_locks_held 100002\n",
		"atlockfs_locks_held_other 7\n",
		"atlockfs_waiters{priority=\"low\"} 1\n",
		"atlockfs_waiters{priority=\"high\"} 2\n",
		"atlockfs_events_total{type=\"acquired\"} 5\n",
		"atlockfs_events_total{type=\"granted\"} 6\n",
		"atlockfs_events_total{type=\"released\"} 7\n",
		"atlockfs_events_total{type=\"forced\"} 1\n",
		"atlockfs_events_total{type=\"expired\"} 9\n",
		"atlockfs_events_total{type=\"queued\"} 99\n",
		"atlockfs_refusals_total{code=\"LOCK_EXISTS\"} 3\n",
		"atlockfs_refusals_total{code=\"TIMEOUT\"} 4\n",
		"nonsense\n",
		"",
	};
	struct top_counts counts = { .at = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		top_counts_take(&counts, lines[i]);
	assert_int_equal((int)counts.held, 100002);
	assert_int_equal((int)counts.waiting, 3);
	assert_int_equal((int)counts.granted, 11);
	assert_int_equal((int)counts.released, 8);
	assert_int_equal((int)counts.expired, 9);
	assert_int_equal((int)counts.refused, 7);
}

static void a_rate_is_what_came_in_between(void **state)
{
	struct top_counts none = { .at = 0 };
	struct top_counts before = counts_at(10, 100, "1.5");
	struct top_counts after = counts_at(14, 110, "1.5");
	struct top_counts restarted = counts_at(16, 2, "15.5");
	struct top_rates rates;

	(void)state;
	top_rates_between(&none, &before, &rates);
	assert_false(rates.known);
	top_rates_between(&before, &before, &rates);
	assert_false(rates.known);
	top_rates_between(&before, &after, &rates);
	assert_true(rates.known);
	assert_int_equal((int)(rates.granted * 10), 25);
	assert_int_equal((int)(rates.released * 10), 0);
	top_rates_between(&after, &restarted, &rates);
	assert_false(rates.known);
}

/* --- Columns --- */

static void assert_columns(enum top_view view, size_t width, const char *wanted)
{
	size_t widths[TOP_COLUMNS];
	size_t sum = 0;
	char names[128] = "";

	top_column_fit(view, width, widths);
	for (size_t i = 0; i < TOP_COLUMNS; i++) {
		if (widths[i] == 0)
			continue;
		sum += widths[i] + (sum > 0);
		(void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i == 0 ? "" : " ",
			       top_column(view, i)->name);
	}
	assert_string_equal(names, wanted);
	assert_int_equal(sum, width);
}

static void a_narrow_terminal_shows_what_matters_most(void **state)
{
	(void)state;
	assert_columns(TOP_LOCKS, 1, "LOCK");
	assert_columns(TOP_LOCKS, 20, "LOCK");
	assert_columns(TOP_LOCKS, 40, "LOCK WHO HELD LEFT");
	assert_columns(TOP_LOCKS, 80, "LOCK WHO OWNER HELD LEFT WAIT PULL");
	assert_columns(TOP_LOCKS, 200, "LOCK WHO OWNER HELD LEFT WAIT PULL REASON");
	assert_columns(TOP_QUEUE, 1, "LOCK");
	assert_columns(TOP_QUEUE, 40, "LOCK POS PRIORITY WHO");
	assert_columns(TOP_QUEUE, 80, "LOCK POS PRIORITY WHO OWNER WAITED TICKET");
	assert_columns(TOP_QUEUE, 400, "LOCK POS PRIORITY WHO OWNER WAITED LEFT TICKET");
}

static void cells_say_what_a_row_is(void **state)
{
	static const char *const wanted[] = { "custom/a", "pr:7", "alice", "1m30s", "-", "3", "#7", "because" };
	struct top_row row = { .lock = "custom/a",
			       .who = "pr:7",
			       .owner = "alice",
			       .reason = "because",
			       .id = "lock_1",
			       .since = 10 * ATLOCK_SECOND,
			       .until = ATLOCK_NEVER,
			       .waiters = 3,
			       .pull = 7 };
	char cell[64];

	(void)state;
	for (size_t i = 0; i < TOP_COLUMNS; i++) {
		top_column_print(top_column(TOP_LOCKS, i), &row, 100 * ATLOCK_SECOND, cell, sizeof(cell));
		assert_string_equal(cell, wanted[i]);
	}
}

/* --- The lines above --- */

static struct top top;
static struct top_model model;

static int head_setup(void **state)
{
	model = (struct top_model){ .counts = { .held = 12, .waiting = 3, .at = 1 }, .health = "ok" };
	top = (struct top){ .mount = { .path = "/srv/build/locks" }, .every = 2 * ATLOCK_SECOND };
	top_list_init(&top.lists[TOP_LOCKS], TOP_LOCKS);
	top_list_init(&top.lists[TOP_QUEUE], TOP_QUEUE);
	top.model = &model;
	return utf8(state);
}

static void assert_head(size_t line, size_t width, const char *wanted)
{
	char out[TOP_HEAD_MAX];

	top_head(&top, line, width, out);
	assert_string_equal(out, wanted);
	assert_true(top_text_width(out) <= width);
}

static void the_first_line_is_how_it_is(void **state)
{
	(void)state;
	assert_head(0, 80, "/srv/build/locks  ok  12 held  3 waiting");
	assert_head(0, 32, "…d/locks  ok  12 held  3 waiting");
	assert_head(0, 20, "…d/locks  ok  12 he…");
	assert_string_equal(top_trouble(&top), "");
	(void)strcpy(model.health, "degraded room: little is left");
	assert_string_equal(top_trouble(&top), model.health);
	assert_head(0, 80, "/srv/build/locks  degraded  12 held  3 waiting");
	(void)strcpy(top.gone, "the daemon is dead");
	assert_head(0, 80, "/srv/build/locks  gone  12 held  3 waiting");
	top.model = NULL;
	assert_head(0, 80, "/srv/build/locks  gone");
	top.gone[0] = '\0';
	assert_head(0, 80, "/srv/build/locks  reading");
}

static void the_second_line_is_how_fast_it_goes(void **state)
{
	(void)state;
	assert_head(1, 80, "per second  - granted  - released  - refused  - expired");
	top.rates = (struct top_rates){ .known = true, .granted = 12.34, .released = 1234.4, .refused = 0.04 };
	assert_head(1, 80, "per second  12.3 granted  1234 released  0.0 refused  0.0 expired");
	assert_head(1, 40, "/s 12.3 gra 1234 rel 0.0 ref 0.0 exp");
}

static void the_third_line_is_what_is_shown(void **state)
{
	(void)state;
	assert_head(2, 80, "0 locks  every 2s  by WAIT");
	model.views[TOP_LOCKS].count = 1;
	top.lists[TOP_LOCKS].reverse = true;
	top.every = ATLOCK_SECOND / 2;
	(void)strcpy(top.lists[TOP_LOCKS].filter, "a\033b");
	assert_head(2, 80, "0 of 1 lock  every 0.5s  by WAIT reversed  with \"a?b\"");
	top.reading = 5 * ATLOCK_SECOND;
	assert_head(2, 33, "0 of 1 lock  no answer for 5s  b…");
	top.paused = true;
	top.view = TOP_QUEUE;
	assert_head(2, 80, "0 waiters  PAUSED  by LOCK");
}

static struct top_model *looked(int64_t took)
{
	struct top_model *read = top_model_new();

	if (read == NULL)
		abort();
	read->took = took;
	return read;
}

/* What takes long is done less often, unless it was long but once. */
static void looking_takes_a_quarter_of_the_time_at_most(void **state)
{
	struct top_model *again = looked(4 * ATLOCK_SECOND);
	struct top_model *failed = looked(1);

	(void)state;
	top.model = NULL;
	top.delay = 2 * ATLOCK_SECOND;
	assert_int_equal(top_take(&top, looked(ATLOCK_SECOND / 2)), 0);
	assert_int_equal(top.every, 2 * ATLOCK_SECOND);
	assert_int_equal(top_take(&top, looked(3 * ATLOCK_SECOND)), 0);
	assert_int_equal(top.every, 2 * ATLOCK_SECOND);
	assert_int_equal(top_take(&top, again), 0);
	assert_int_equal(top.every, 12 * ATLOCK_SECOND);
	assert_ptr_equal(top.model, again);
	/* What cannot be read leaves what was there. */
	failed->err = -5;
	(void)strcpy(failed->said, "the daemon is dead");
	assert_int_equal(top_take(&top, failed), 0);
	assert_ptr_equal(top.model, again);
	assert_string_equal(top_health(&top), "gone");
	assert_int_equal(top.every, 2 * ATLOCK_SECOND);
	top_clear(&top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_too_long_is_cut, utf8),
		cmocka_unit_test_setup(columns_are_counted_not_bytes, utf8),
		cmocka_unit_test_setup(nothing_reaches_the_terminal_that_it_might_obey, utf8),
		cmocka_unit_test_setup(another_locale_gets_what_it_has, ascii),
		cmocka_unit_test_setup(no_space_is_too_small, utf8),
		cmocka_unit_test_setup(lines_are_wrapped_and_end_where_they_end, utf8),
		cmocka_unit_test(ages_are_for_people),
		cmocka_unit_test(metrics_are_added_up),
		cmocka_unit_test(a_rate_is_what_came_in_between),
		cmocka_unit_test(a_narrow_terminal_shows_what_matters_most),
		cmocka_unit_test(cells_say_what_a_row_is),
		cmocka_unit_test_setup(the_first_line_is_how_it_is, head_setup),
		cmocka_unit_test_setup(the_second_line_is_how_fast_it_goes, head_setup),
		cmocka_unit_test_setup(the_third_line_is_what_is_shown, head_setup),
		cmocka_unit_test_setup(looking_takes_a_quarter_of_the_time_at_most, head_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
