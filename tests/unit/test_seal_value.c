/* A sealed value can be read with its key, under its name and unchanged, or not at all. */
#include "scratch.h"
#include "seal.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "plan=hunter2"

struct fixture {
	char *dir;
	char path[2][128]; /* key files */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char id[ATLOCK_KEY_ID_MAX];

	assert_non_null(f);
	f->dir = scratch_new();
	for (int i = 0; i < 2; i++) {
		(void)snprintf(f->path[i], sizeof(f->path[i]), "%s/key%d", f->dir, i);
		assert_int_equal(atlock_key_new(f->path[i], id, NULL), 0);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->dir);
	free(f);
	return 0;
}

static void sealed_value_is_read_with_its_key_and_under_its_name_only(void **state)
{
	struct fixture *f = *state;
	struct seal seal = { .writes = true, .count = 1 };
	struct seal other = { .writes = true, .count = 1 };
	struct slice at = slice_of("uga");
	unsigned char *value;
	size_t value_len;
	char *text;
	size_t len;

	assert_int_equal(seal_key_read(f->path[0], &seal.keys[0], NULL), 0);
	assert_int_equal(seal_key_read(f->path[1], &other.keys[0], NULL), 0);
	assert_int_equal(seal_wrap(&seal.keys[0], at, slice_of(SECRET), &value, &value_len), 0);
	assert_int_equal(value_len, strlen(SECRET) + SEAL_OVERHEAD);
	struct slice sealed = { value, value_len };
	assert_true(seal_is(sealed));
	assert_null(memmem(value, value_len, "hunter2", 7));
	assert_int_equal(seal_unwrap(&seal, at, sealed, &text, &len), 0);
	assert_string_equal(text, SECRET);
	free(text);
	assert_int_equal(seal_unwrap(&other, at, sealed, &text, &len), -ENOKEY);
	assert_int_equal(seal_unwrap(NULL, at, sealed, &text, &len), -ENOKEY);
	assert_int_equal(seal_unwrap(&seal, slice_of("ugb"), sealed, &text, &len), -EBADMSG);
	/* The same id on another key: the tag tells. */
	memcpy(other.keys[0].id, seal.keys[0].id, SEAL_ID);
	assert_int_equal(seal_unwrap(&other, at, sealed, &text, &len), -EBADMSG);
	free(value);
}

static void no_bit_of_a_sealed_value_can_change(void **state)
{
	struct fixture *f = *state;
	struct seal seal = { .writes = true, .count = 1 };
	struct slice at = slice_of("uga");
	unsigned char *value;
	size_t value_len;
	char *text;
	size_t len;

	assert_int_equal(seal_key_read(f->path[0], &seal.keys[0], NULL), 0);
	assert_int_equal(seal_wrap(&seal.keys[0], at, slice_of(SECRET), &value, &value_len), 0);
	for (size_t i = 0; i < value_len * 8; i++) {
		value[i / 8] ^= (unsigned char)(1U << i % 8);
		assert_true(seal_unwrap(&seal, at, (struct slice){ value, value_len }, &text, &len) < 0);
		value[i / 8] ^= (unsigned char)(1U << i % 8);
	}
	for (size_t n = 0; n < value_len; n++)
		assert_true(seal_unwrap(&seal, at, (struct slice){ value, n }, &text, &len) < 0);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sealed_value_is_read_with_its_key_and_under_its_name_only, setup,
						teardown),
		cmocka_unit_test_setup_teardown(no_bit_of_a_sealed_value_can_change, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
