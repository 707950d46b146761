/* SHA-256 has the result that FIPS 180-4 gives for its example. */
#include "sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void known_answer(void **state)
{
	static const unsigned char expected[SHA256_BYTES] = {
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
		0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
	};
	unsigned char got[SHA256_BYTES];

	(void)state;
	sha256("abc", 3, got);
	assert_memory_equal(got, expected, sizeof(got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
