/* What of others' texts is shown to people. */
#include <bsd/string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "atlock.h"
#include "atlock/program.h"

/* NOLINTBEGIN(misc-misleading-bidirectional): what it is about */
static const struct {
	const char *text;
	const char *shown;
	const char *tamed;
} rows[] = {
	{ "", "", "" },
	{ "global/apply", "global/apply", "global/apply" },
	{ "gr\xc3\xb6\xc3\x9f"
	  "er \xe2\x82\xac \xf0\x9f\x94\x92",
	  "gr\xc3\xb6\xc3\x9f"
	  "er \xe2\x82\xac \xf0\x9f\x94\x92",
	  "gr\xc3\xb6\xc3\x9f"
	  "er \xe2\x82\xac \xf0\x9f\x94\x92" },
	{ "a\033[2Jb", "a\\x1b[2Jb", "a?[2Jb" },
	{ "\t\n\177", "\\x09\\x0a\\x7f", "???" },
	{ "\xc2\x9b"
	  "31m",
	  "\\xc2\\x9b31m", "??31m" },
	{ "\xc2\xa0", "\xc2\xa0", "\xc2\xa0" },
	{ "x\xe2\x80\xaey", "x\\xe2\\x80\\xaey", "x???y" },
	{ "\xe2\x81\xa6", "\\xe2\\x81\\xa6", "???" },
	{ "\xe2\x80\xa8", "\\xe2\\x80\\xa8", "???" },
	{ "\xe2\x80\x8b", "\\xe2\\x80\\x8b", "???" },
	{ "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81", "????" },
	{ "caf\xe9", "caf\\xe9", "caf?" },
	{ "\xe2\x82", "\\xe2\\x82", "??" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "???" },
	{ "\xc0\xaf", "\\xc0\\xaf", "??" },
};
/* NOLINTEND(misc-misleading-bidirectional) */

static void test_rows(void **state)
{
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].text);

		assert_int_equal(atlock_clean(rows[i].text, len, out, sizeof(out)), strlen(rows[i].shown));
		assert_string_equal(out, rows[i].shown);
		assert_int_equal(atlock_clean(rows[i].text, len, NULL, 0), strlen(rows[i].shown));
		(void)strlcpy(out, rows[i].text, sizeof(out));
		atlock_tame(out, len);
		assert_string_equal(out, rows[i].tamed);
	}
}

/* Whole characters only, and nothing after one that did not fit. */
static void test_cut(void **state)
{
	static const char text[] = "a\xe2\x82\xac\033b";
	static const char *const cut[] = { NULL,
					   "",
					   "a",
					   "a",
					   "a",
					   "a\xe2\x82\xac",
					   "a\xe2\x82\xac",
					   "a\xe2\x82\xac",
					   "a\xe2\x82\xac",
					   "a\xe2\x82\xac\\x1b",
					   "a\xe2\x82\xac\\x1bb" };
	char out[16];

	(void)state;
	for (size_t size = 1; size < sizeof(cut) / sizeof(cut[0]); size++) {
		memset(out, '#', sizeof(out));
		assert_int_equal(atlock_clean(text, sizeof(text) - 1, out, size), 9);
		assert_string_equal(out, cut[size]);
		assert_int_equal(out[size], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_cut) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
