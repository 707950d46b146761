/*
 * A Bolt file is read as the library that wrote it means it; a damaged one is an error that names the page, or, where nothing
 * in the file can show the damage, gives as many records as there are. The sample was written by Bolt itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "foreign.h"

#define SAMPLE "tests/data/atlantis-sample.db"
#define PAGE 4096
#define LOCKS 119
#define PULLS 20
#define GLOBALS 1

/* The sample in a file of its own, in memory, to be damaged. */
struct copy {
	int fd;
	unsigned char *data; /* as it was */
	size_t len;
	uint64_t used; /* bytes up to the last page in use */
	char path[64];
	char error[FOREIGN_ERROR_MAX];
	uint64_t hash; /* of all records, as it was */
};

struct counts {
	unsigned int kinds[FOREIGN_KINDS];
	uint64_t hash;
	bool odd; /* a record that is no JSON object, by its ends */
};

static uint64_t hash_more(uint64_t hash, struct slice bytes)
{
	const unsigned char *data = bytes.data;

	for (size_t i = 0; i < bytes.len; i++)
		hash = (hash ^ data[i]) * UINT64_C(1099511628211);
	return hash;
}

/* Reads all records: 0 or the error, with its text in copy->error. */
static int read_all(struct copy *copy, unsigned int flags, struct counts *out)
{
	struct foreign *foreign;
	struct foreign_item item;
	int rc = foreign_open(&foreign, copy->path, flags, copy->error);

	memset(out, 0, sizeof(*out));
	if (rc < 0)
		return rc;
	while ((rc = foreign_next(foreign, &item)) == 0) {
		const char *value = item.value.data;

		out->kinds[item.kind]++;
		out->hash = hash_more(hash_more(out->hash, item.key), item.value);
		out->odd = out->odd || item.value.len < 2 || value[0] != '{' || value[item.value.len - 1] != '}';
	}
	memcpy(copy->error, foreign->error, sizeof(copy->error));
	foreign_close(foreign);
	return rc < 0 ? rc : 0;
}

static int copy_setup(void **state)
{
	struct copy *copy = calloc(1, sizeof(*copy));
	struct counts counts;
	struct stat st = { .st_size = 0 };
	int fd = open(SAMPLE, O_RDONLY);

	assert_non_null(copy);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	copy->len = (size_t)st.st_size;
	copy->data = malloc(copy->len + 1);
	assert_non_null(copy->data);
	assert_int_equal(read(fd, copy->data, copy->len), copy->len);
	close(fd);
	copy->fd = memfd_create("bolt", MFD_CLOEXEC);
	assert_true(copy->fd >= 0);
	assert_int_equal(pwrite(copy->fd, copy->data, copy->len, 0), copy->len);
	snprintf(copy->path, sizeof(copy->path), "/proc/self/fd/%d", copy->fd);
	memcpy(&copy->used, copy->data + 16 + 40, sizeof(copy->used));
	copy->used *= PAGE;
	assert_int_equal(read_all(copy, 0, &counts), 0);
	copy->hash = counts.hash;
	*state = copy;
	return 0;
}

static int copy_teardown(void **state)
{
	struct copy *copy = *state;

	close(copy->fd);
	free(copy->data);
	free(copy);
	return 0;
}

static void put(const struct copy *copy, size_t at, const void *bytes, size_t len)
{
	assert_int_equal(pwrite(copy->fd, bytes, len, (off_t)at), len);
}

static void restore(const struct copy *copy, size_t at, size_t len)
{
	put(copy, at, copy->data + at, len);
}

static bool is_whole(const struct counts *counts)
{
	return counts->kinds[FOREIGN_LOCK] == LOCKS && counts->kinds[FOREIGN_PULL] == PULLS &&
	       counts->kinds[FOREIGN_GLOBAL] == GLOBALS;
}

static void sample_is_read_whole(void **state)
{
	struct copy *copy = *state;
	struct counts counts;

	assert_int_equal(read_all(copy, 0, &counts), 0);
	assert_true(is_whole(&counts));
	assert_false(counts.odd);
}

/* What is wrong is said with the page, and read without harm. Returns whether it was noticed. */
static bool assert_safe(struct copy *copy, const char *what, size_t at)
{
	struct counts counts;
	int rc = read_all(copy, 0, &counts);

	if (rc < 0) {
		if (rc != -EBADMSG || strstr(copy->error, "page ") == NULL)
			fail_msg("%s at %zu: %d %s", what, at, rc, copy->error);
		return true;
	}
	if (!is_whole(&counts))
		fail_msg("%s at %zu: %u locks, %u pulls, %u global locks", what, at, counts.kinds[FOREIGN_LOCK],
			 counts.kinds[FOREIGN_PULL], counts.kinds[FOREIGN_GLOBAL]);
	return counts.hash != copy->hash;
}

static void file_cut_anywhere_is_noticed(void **state)
{
	struct copy *copy = *state;
	struct counts counts;

	for (size_t len = 0; len < copy->used; len += len < 200 || len % PAGE == PAGE - 1 ? 1 : 37) {
		assert_int_equal(ftruncate(copy->fd, (off_t)len), 0);
		if (!assert_safe(copy, "cut", len))
			fail_msg("not noticed: cut at %zu", len);
	}
	/* Behind the last page there is only room. */
	assert_int_equal(ftruncate(copy->fd, 0), 0);
	put(copy, 0, copy->data, (size_t)copy->used);
	assert_int_equal(read_all(copy, 0, &counts), 0);
	assert_true(is_whole(&counts) && counts.hash == copy->hash);
}

/* Where a page's structure ends: header and entries. Bytes behind are keys and values. */
static size_t structure_of(const struct copy *copy, size_t page)
{
	uint16_t count;

	memcpy(&count, copy->data + page + 10, sizeof(count));
	return 16 + (size_t)count * 16 < PAGE ? 16 + (size_t)count * 16 : PAGE;
}

static void flip(struct copy *copy, size_t at, unsigned char mask)
{
	unsigned char byte = copy->data[at] ^ mask;

	put(copy, at, &byte, 1);
	assert_safe(copy, "flip", at);
	restore(copy, at, 1);
}

static void byte_flipped_in_the_structure_loses_nothing(void **state)
{
	static const unsigned char masks[] = { 0x01, 0x80, 0xff };
	struct copy *copy = *state;

	for (size_t page = 0; page < copy->used; page += PAGE)
		for (size_t i = 0; i < structure_of(copy, page); i++)
			flip(copy, page + i, masks[(page / PAGE + i) % 3]);
	for (size_t i = 0; i < 16 + 64; i++)
		for (size_t m = 0; m < 3; m++)
			flip(copy, i, masks[m]);
}

static void byte_flipped_in_the_data_loses_nothing(void **state)
{
	struct copy *copy = *state;

	for (size_t at = 0; at < copy->used; at += 61)
		flip(copy, at, (unsigned char)(1U << (at % 8)));
}

static void byte_set_to_zero_loses_nothing(void **state)
{
	static const unsigned char zero;
	struct copy *copy = *state;

	for (size_t page = 2 * PAGE; page < copy->used; page += PAGE)
		for (size_t i = 8; i < 48 && i < structure_of(copy, page); i++) {
			put(copy, page + i, &zero, 1);
			assert_safe(copy, "zero", page + i);
			restore(copy, page + i, 1);
		}
}

static void pages_full_of_noise_do_no_harm(void **state)
{
	struct copy *copy = *state;
	unsigned char noise[PAGE];
	uint64_t seed = 1;

	for (size_t page = 0; page < copy->used; page += PAGE) {
		for (size_t i = 0; i < PAGE; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			noise[i] = (unsigned char)(seed >> 56);
		}
		/* The second half keeps a header that is believed. */
		if (page % (2 * PAGE) == 0)
			memcpy(noise, copy->data + page, 16);
		put(copy, page, noise, sizeof(noise));
		assert_safe(copy, "noise", page);
		restore(copy, page, PAGE);
	}
}

static void circle_of_pages_ends(void **state)
{
	struct copy *copy = *state;
	struct counts counts;

	for (size_t page = 0; page < copy->used; page += PAGE) {
		uint64_t self = page / PAGE;

		if (copy->data[page + 8] != 1)
			continue;
		put(copy, page + 16 + 8, &self, sizeof(self));
		assert_int_equal(read_all(copy, 0, &counts), -EBADMSG);
		restore(copy, page, PAGE);
	}
}

/* Bolt itself would go back to the state before the last commit, and nobody would see that records are missing. */
static void damaged_meta_page_is_only_passed_over_if_asked(void **state)
{
	struct copy *copy = *state;
	struct counts counts;
	unsigned char byte = copy->data[20] ^ 1;

	put(copy, 20, &byte, 1);
	assert_int_equal(read_all(copy, 0, &counts), -EBADMSG);
	assert_non_null(strstr(copy->error, "page 0"));
	/* The state before the last commit of the sample is an empty file. */
	assert_int_equal(read_all(copy, FOREIGN_OLDER, &counts), -EBADMSG);
	assert_non_null(strstr(copy->error, "no bucket"));
	restore(copy, 20, 1);
	byte = copy->data[PAGE + 20] ^ 1;
	put(copy, PAGE + 20, &byte, 1);
	assert_int_equal(read_all(copy, 0, &counts), -EBADMSG);
	assert_non_null(strstr(copy->error, "page 1"));
	assert_int_equal(read_all(copy, FOREIGN_OLDER, &counts), 0);
	assert_true(is_whole(&counts));
	restore(copy, PAGE + 20, 1);
}

static void file_of_a_running_atlantis_is_left_alone(void **state)
{
	struct copy *copy = *state;
	struct counts counts;
	int fd = open(copy->path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(read_all(copy, 0, &counts), -EBUSY);
	assert_non_null(strstr(copy->error, "running Atlantis"));
	close(fd);
	assert_int_equal(read_all(copy, 0, &counts), 0);
}

static void what_is_no_bolt_file_is_refused(void **state)
{
	struct foreign *foreign;
	char error[FOREIGN_ERROR_MAX];

	(void)state;
	assert_int_equal(foreign_open(&foreign, "/nonexistent/x", 0, error), -ENOENT);
	assert_int_equal(foreign_open(&foreign, "/", 0, error), -EISDIR);
	assert_int_equal(foreign_open(&foreign, "/dev/null", 0, error), -EINVAL);
	assert_int_equal(foreign_open(&foreign, "Makefile", 0, error), -EBADMSG);
	assert_int_equal(foreign_open(&foreign, "ftp://x", 0, error), -EINVAL);
	assert_int_equal(foreign_open(&foreign, "rediss://x", 0, error), -EINVAL);
}

static void bolt_file_is_not_written(void **state)
{
	struct copy *copy = *state;
	struct foreign_item item = { .key = { "a", 1 }, .value = { "b", 1 } };
	struct foreign *foreign;
	struct slice value;

	assert_int_equal(foreign_open(&foreign, copy->path, 0, copy->error), 0);
	assert_int_equal(foreign_change(foreign, &item, NULL), -EROFS);
	assert_int_equal(foreign_get(foreign, FOREIGN_LOCK, "a", &value), -EROFS);
	foreign_close(foreign);
}

#define COPIED(test) cmocka_unit_test_setup_teardown(test, copy_setup, copy_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COPIED(sample_is_read_whole),
		COPIED(file_cut_anywhere_is_noticed),
		COPIED(byte_flipped_in_the_structure_loses_nothing),
		COPIED(byte_flipped_in_the_data_loses_nothing),
		COPIED(byte_set_to_zero_loses_nothing),
		COPIED(pages_full_of_noise_do_no_harm),
		COPIED(circle_of_pages_ends),
		COPIED(damaged_meta_page_is_only_passed_over_if_asked),
		COPIED(file_of_a_running_atlantis_is_left_alone),
		cmocka_unit_test(what_is_no_bolt_file_is_refused),
		COPIED(bolt_file_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
