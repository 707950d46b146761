/* Open directories: what a reader sees of entries that come and go while it reads, and where seekdir(3) leads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "listing.h"

#define NAMES 2000
#define DOTS 2 /* "." and ".." come first */

/* A directory of numbers: entry i is called "%08u" if it is there. */
struct numbers_dir {
	bool there[NAMES];
	int fails; /* negative errno, or 0 */
	unsigned int steps;
};

static int list(void *arg, struct listing *out)
{
	struct numbers_dir *dir = arg;
	char name[16];
	int full = 0;

	dir->steps++;
	if (dir->fails < 0)
		return dir->fails;
	for (size_t i = listing_index(out); full == 0 && i < NAMES; i++) {
		if (!dir->there[i])
			continue;
		(void)snprintf(name, sizeof(name), "%08zu", i);
		full = listing_add_index(out, i, name, i % 2 == 0 ? S_IFREG : S_IFDIR);
	}
	return 0;
}

struct fixture {
	struct numbers_dir dir;
	struct listing *listing;
	unsigned int seen[NAMES];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	memset(f->dir.there, true, sizeof(f->dir.there));
	f->listing = listing_new();
	assert_non_null(f->listing);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	listing_free(f->listing);
	free(f);
	return 0;
}

/* The name at an offset, or NULL at the end. */
static const char *name_at(struct fixture *f, size_t offset, mode_t *type)
{
	assert_int_equal(listing_seek(f->listing, offset, list, &f->dir), 0);
	return listing_at(f->listing, offset, type);
}

/* Reads on from an offset, and counts what it sees, until the end or for `most` entries. Returns the next offset. */
static size_t read_on(struct fixture *f, size_t offset, size_t most)
{
	const char *name;
	mode_t type;

	for (; most > 0 && (name = name_at(f, offset, &type)) != NULL; most--, offset++) {
		size_t i = strtoul(name, NULL, 10);

		if (name[0] == '.')
			continue;
		assert_true(i < NAMES);
		assert_int_equal(type, i % 2 == 0 ? S_IFREG : S_IFDIR);
		f->seen[i]++;
	}
	return offset;
}

static void every_entry_comes_once(void **state)
{
	struct fixture *f = *state;
	mode_t type;

	assert_string_equal(name_at(f, 0, &type), ".");
	assert_string_equal(name_at(f, 1, &type), "..");
	assert_int_equal(type, S_IFDIR);
	assert_int_equal(read_on(f, 0, SIZE_MAX), NAMES + DOTS);
	for (size_t i = 0; i < NAMES; i++)
		assert_int_equal(f->seen[i], 1);
	/* A step is more than one entry, and the whole directory is more than one step. */
	assert_in_range(f->dir.steps, 2, NAMES / 10);
}

static void entries_that_stay_come_once_whatever_goes(void **state)
{
	struct fixture *f = *state;
	size_t offset = 0;

	/* As rm -r does: what was read is removed before the next is read. */
	for (size_t removed = 0; removed < NAMES;) {
		offset = read_on(f, offset, 100);
		while (removed < NAMES && f->seen[removed] > 0)
			f->dir.there[removed++] = false;
		if (name_at(f, offset, &(mode_t){ 0 }) == NULL)
			break;
	}
	for (size_t i = 0; i < NAMES; i++)
		assert_int_equal(f->seen[i], 1);
}

static void going_back_finds_the_same_entry(void **state)
{
	struct fixture *f = *state;
	const size_t places[] = { 1500, 3, 700, 1999, 2, 1100 };
	mode_t type;

	assert_int_equal(read_on(f, 0, SIZE_MAX), NAMES + DOTS);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *name = name_at(f, places[i], &type);

		assert_non_null(name);
		assert_int_equal(strtoul(name, NULL, 10), places[i] - DOTS);
	}
}

static void going_back_after_a_change_leaves_none_out(void **state)
{
	struct fixture *f = *state;
	const size_t back = 1200;

	(void)read_on(f, 0, SIZE_MAX);
	memset(f->seen, 0, sizeof(f->seen));
	/* Around the place, so that its offset has moved. */
	for (size_t i = back - 100; i < back; i += 3)
		f->dir.there[i] = false;
	(void)read_on(f, back, SIZE_MAX);
	for (size_t i = back - DOTS; i < NAMES; i++)
		assert_int_equal(f->seen[i], f->dir.there[i] ? 1 : 0);
	/* It may begin too early, by an eighth of what was read. */
	for (size_t i = 0; i < back - DOTS - NAMES / 8 - 1; i++)
		assert_int_equal(f->seen[i], 0);
}

static void offset_0_begins_anew(void **state)
{
	struct fixture *f = *state;

	(void)read_on(f, 0, 1000);
	memset(f->seen, 0, sizeof(f->seen));
	f->dir.there[0] = false;
	assert_int_equal(read_on(f, 0, SIZE_MAX), NAMES + DOTS - 1);
	assert_int_equal(f->seen[0], 0);
	assert_int_equal(f->seen[1], 1);
}

static void an_error_is_passed_on_and_reading_can_go_on(void **state)
{
	struct fixture *f = *state;
	size_t offset;
	mode_t type;

	offset = read_on(f, 0, 10);
	/* The end of what the first step has. */
	while (listing_at(f->listing, offset, &type) != NULL)
		offset = read_on(f, offset, 1);
	f->dir.fails = -EIO;
	assert_int_equal(listing_seek(f->listing, offset, list, &f->dir), -EIO);
	assert_null(listing_at(f->listing, offset, &type));
	f->dir.fails = 0;
	assert_int_equal(read_on(f, offset, SIZE_MAX), NAMES + DOTS);
	for (size_t i = 0; i < NAMES; i++)
		assert_int_equal(f->seen[i], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_entry_comes_once),
		TEST(entries_that_stay_come_once_whatever_goes),
		TEST(going_back_finds_the_same_entry),
		TEST(going_back_after_a_change_leaves_none_out),
		TEST(offset_0_begins_anew),
		TEST(an_error_is_passed_on_and_reading_can_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
