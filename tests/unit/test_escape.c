/* Every name has one spelling: what is checked, without being spelled again where that can be seen at once, is what is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "escape.h"

#define FIELDS (ESCAPE_URL + 1)

/* By the definition: decoded and encoded again it is the same. No '/' can be inside a component of a path. */
static bool is_spelled(enum escape_field field, bool alone, const char *text, size_t len)
{
	char said[ATLOCK_COMPONENT_MAX + 1];
	char spelled[ESCAPE_SPELLED_MAX];
	int n = escape_decode(text, len, said, sizeof(said));

	if (n < 0 || (field == ESCAPE_PATH && memchr(said, '/', (size_t)n) != NULL))
		return false;
	n = escape_encode(field, alone, said, (size_t)n, spelled, sizeof(spelled));
	return n >= 0 && (size_t)n == len && memcmp(spelled, text, len) == 0;
}

static void assert_checked(const char *text, size_t len)
{
	struct atlock_why why;

	for (int field = 0; field < FIELDS; field++)
		for (int alone = 0; alone < 2; alone++)
			assert_int_equal(escape_check((enum escape_field)field, alone, text, len, &why) == 0,
					 is_spelled((enum escape_field)field, alone, text, len));
}

static void every_byte_is_checked_as_it_is_spelled(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char alone[] = { (char)c, '\0' };
		char within[] = { 'a', (char)c, 'b', '\0' };

		assert_checked(alone, 1);
		assert_checked(within, 3);
	}
}

/* Numbers that are the same in each run. */
static size_t draw(size_t below)
{
	static uint32_t at = 1;

	at = at * 1664525U + 1013904223U;
	return (at >> 8) % below;
}

static void texts_are_checked_as_they_are_spelled(void **state)
{
	static const char bytes[] = "ab-.%/@:?# 2EFf05D\x01\x7f\x80\xff~";
	char text[ATLOCK_COMPONENT_MAX + 9];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		size_t len = draw(7);

		for (size_t k = 0; k < len; k++)
			text[k] = bytes[draw(sizeof(bytes) - 1)];
		text[len] = '\0';
		assert_checked(text, len);
	}
	memset(text, 'a', sizeof(text));
	for (size_t len = ATLOCK_COMPONENT_MAX - 4; len < sizeof(text); len++)
		assert_checked(text, len);
	assert_checked("..", 2);
	assert_checked("...", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_is_checked_as_it_is_spelled),
		cmocka_unit_test(texts_are_checked_as_they_are_spelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
