/* SHA-256: whatever the processor can do, the result is libmd's, for every length around the ends of blocks. */
#include "sha256.h"

#include <setjmp.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

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

static void every_length_is_as_libmd_has_it(void **state)
{
	unsigned char data[1000];
	unsigned char got[SHA256_BYTES];
	unsigned char expected[SHA256_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 167 + i / 256);
	for (size_t len = 0; len <= sizeof(data); len++) {
		SHA2_CTX sha;

		SHA256Init(&sha);
		SHA256Update(&sha, data, len);
		SHA256Final(expected, &sha);
		sha256(data, len, got);
		assert_memory_equal(got, expected, sizeof(got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answer),
		cmocka_unit_test(every_length_is_as_libmd_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
