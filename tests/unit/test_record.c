/*
 * Records and keys: what is written is read back, what is damaged is refused, and keys sort as the numbers in them.
 */
#include "record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(literal)                        \
	{                                    \
		literal, sizeof(literal) - 1 \
	}
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct record_format format = { 7, 1800000000 };
static const struct record_counter counter = { 0x0102030405060708, UINT64_MAX };
static const struct record_tail tail = {
	1, -2, INT64_MIN, 4, UINT64_MAX, 20000, 1, 1U << 31, TEXT("0123456789abcdef0123456789abcdef"), 5, UINT64_MAX
};
static const struct record_anchor anchor = { 2, UINT64_MAX, -3, TEXT("root"),
					     TEXT("0123456789abcdef0123456789abcdef") };
static const struct record_lock lock = {
	.mode = 0777,
	.grant = {
		.state = RECORD_PENDING,
		.priority = 3,
		.token = 5,
		.version = 6,
		.id_time = 7,
		.id_random = 8,
		.acquired = -9,
		.renewed = 10,
		.expires = INT64_MAX,
		.ttl = 12,
		.claim_by = 13,
		.ticket = 14,
		.holder = {
			.uid = UINT32_MAX,
			.gid = 2,
			.pid = 3,
			.boot = 0xdeadbeef,
			.start = 4,
			.owner = TEXT("alice"),
			.who = TEXT("build-17"),
			.host = TEXT(""),
		},
	},
};
static const struct record_ticket ticket = {
	.priority = 1,
	.wait = 7,
	.instance = 8,
	.since = 9,
	.deadline = INT64_MAX,
	.ttl = 11,
	.holder = {
		.uid = 2,
		.gid = 3,
		.pid = 4,
		.boot = 5,
		.start = 6,
		.owner = TEXT("bob"),
		.who = TEXT("pr:5"),
		.host = TEXT("host"),
	},
};
static const struct record_queue queue = { 3, -1, 2, 300 };
static const struct record_hold hold = { 4, INT64_MAX };
static const struct record_dir dir = { 1, 2, 3, 4, 01777, 5, -6, 7, TEXT("any\xff name"), 8 };
static const struct record_event event = {
	.type = 20,
	.code = 14,
	.wall = 3,
	.offset = 127,
	.token = 128,
	.ticket = UINT64_MAX,
	.skipped = 1,
	.actor_uid = UINT32_MAX,
	.actor_pid = 7,
	.session = 16384,
	.owner = TEXT("alice"),
	.who = TEXT("1"),
	.actor = TEXT("root"),
	.comm = TEXT("touch"),
	.host = TEXT("host"),
	.old = TEXT("low"),
	.new = TEXT("high"),
	.released = TEXT("any bytes"),
	.prev = TEXT("fedcba9876543210fedcba9876543210"),
	.lock = TEXT("repos/acme/infra/-/./-/default"),
};
static const struct record_released released = { 2, 3, 4, -5, 6, INT64_MAX, 8, 9, 10, 11, TEXT("host") };
static const struct record_day day = { 1, 2, UINT64_MAX };
static const struct record_pull pull = { 3, 4, -5, TEXT("5ea1ab1e"), TEXT("alice") };
static const struct record_project project = { 7, 6, TEXT("[{\"Passed\":true}]"), TEXT("alice") };

static const struct record_seal seal = { 1, TEXT("01234567"), TEXT("") };

static const struct record_claim claim = { 1, 2, -3, 4, 5, TEXT("alice") };
static const struct record_reference reference = { 1, 2, 3, -4, TEXT("alice"), TEXT("host") };

static const struct {
	enum record_kind kind;
	const void *record;
	size_t size;
} samples[] = {
	{ RECORD_FORMAT_INFO, &format, sizeof(format) },
	{ RECORD_COUNTER, &counter, sizeof(counter) },
	{ RECORD_TAIL, &tail, sizeof(tail) },
	{ RECORD_LOCK, &lock, sizeof(lock) },
	{ RECORD_TICKET, &ticket, sizeof(ticket) },
	{ RECORD_QUEUE, &queue, sizeof(queue) },
	{ RECORD_HOLD_TIME, &hold, sizeof(hold) },
	{ RECORD_DIR, &dir, sizeof(dir) },
	{ RECORD_EVENT, &event, sizeof(event) },
	{ RECORD_CLAIM, &claim, sizeof(claim) },
	{ RECORD_REFERENCE, &reference, sizeof(reference) },
	{ RECORD_PULL, &pull, sizeof(pull) },
	{ RECORD_PROJECT, &project, sizeof(project) },
	{ RECORD_SEAL, &seal, sizeof(seal) },
	{ RECORD_RELEASED, &released, sizeof(released) },
	{ RECORD_DAY, &day, sizeof(day) },
	{ RECORD_ANCHOR, &anchor, sizeof(anchor) },
};

/* Large enough for any record. */
union any_record {
	struct record_lock lock;
	struct record_ticket ticket;
	struct record_event event;
	unsigned char bytes[512];
};

static size_t sample_encode(size_t i, unsigned char out[RECORD_MAX])
{
	int len = record_encode(samples[i].kind, samples[i].record, out);

	assert_in_range(len, 6, RECORD_MAX);
	return (size_t)len;
}

/* A copy of exactly `len` bytes, so that a sanitizer sees a read behind them. */
static int decode_copy(enum record_kind kind, const unsigned char *bytes, size_t len)
{
	unsigned char *copy = malloc(len > 0 ? len : 1);
	union any_record record;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	int rc = record_decode(kind, (struct slice){ copy, len }, &record);
	free(copy);
	return rc;
}

/* Encoding what was decoded gives the same bytes, and the bytes hold every field. */
static void every_kind_is_read_back(void **state)
{
	unsigned char first[RECORD_MAX];
	unsigned char again[RECORD_MAX];
	union any_record record;

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		size_t len = sample_encode(i, first);

		assert_true(samples[i].size <= sizeof(record));
		assert_int_equal(record_decode(samples[i].kind, (struct slice){ first, len }, &record), 0);
		assert_int_equal(record_encode(samples[i].kind, &record, again), len);
		assert_memory_equal(first, again, len);
	}
}

static void lock_fields_are_read_back(void **state)
{
	unsigned char bytes[RECORD_MAX];
	struct record_lock got;
	size_t len = sample_encode(3, bytes);

	(void)state;
	assert_int_equal(record_decode(RECORD_LOCK, (struct slice){ bytes, len }, &got), 0);
	assert_int_equal(got.grant.state, RECORD_PENDING);
	assert_int_equal(got.mode, 0777);
	assert_int_equal(got.grant.holder.uid, UINT32_MAX);
	assert_int_equal(got.grant.holder.boot, 0xdeadbeef);
	assert_int_equal(got.grant.acquired, -9);
	assert_int_equal(got.grant.expires, INT64_MAX);
	assert_int_equal(got.grant.ticket, 14);
	assert_int_equal(got.grant.holder.who.len, 8);
	assert_memory_equal(got.grant.holder.who.data, "build-17", 8);
	assert_int_equal(got.grant.holder.host.len, 0);
}

/* What only a store of several hosts has. */
static void the_times_and_the_call_of_a_lock_are_read_back(void **state)
{
	unsigned char bytes[RECORD_MAX];
	struct record_lock shared = lock;
	struct record_lock got;
	int len;

	(void)state;
	shared.grant.times = (struct record_times){ .stamp = 15, .shift = -16, .late = RECORD_UNSURE };
	shared.grant.wait = 17;
	len = record_encode(RECORD_LOCK, &shared, bytes);
	assert_true(len > 0);
	assert_int_equal(record_decode(RECORD_LOCK, (struct slice){ bytes, (size_t)len }, &got), 0);
	assert_int_equal(got.grant.times.stamp, 15);
	assert_int_equal(got.grant.times.shift, -16);
	assert_int_equal(got.grant.times.late, RECORD_UNSURE);
	assert_int_equal(got.grant.wait, 17);
}

/* The bytes on disk must never change by accident. */
static void counter_has_the_documented_bytes(void **state)
{
	static const unsigned char expected[] = {
		RECORD_COUNTER, 1,                                        /* kind, version */
		0x08,           0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* next */
		0xff,           0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* ceiling */
	};
	unsigned char bytes[RECORD_MAX];

	(void)state;
	assert_int_equal(sample_encode(1, bytes), sizeof(expected) + 4);
	assert_memory_equal(bytes, expected, sizeof(expected));
}

/* Each word is a field in the order of docs/FORMAT.md, the last is the checksum. */
static const char lock_bytes[] = "04 01 02 03 ff01 ffffffff 02000000 03000000 efbeadde 0400000000000000 "
				 "0500000000000000 0600000000000000 0700000000000000 08000000 "
				 "f7ffffffffffffff 0a00000000000000 ffffffffffffff7f 0c00000000000000 "
				 "0d00000000000000 0e00000000000000 05616c696365 086275696c642d3137 00 049f8c2f";
static const char ticket_bytes[] = "05 01 01 02000000 03000000 04000000 05000000 0600000000000000 "
				   "0700000000000000 0800000000000000 0900000000000000 ffffffffffffff7f "
				   "0b00000000000000 03626f62 0470723a35 04686f7374 a97cb35d";

static void sample_has_bytes(size_t i, const char *expected)
{
	unsigned char bytes[RECORD_MAX];
	size_t len = sample_encode(i, bytes);
	char byte[3];

	for (size_t at = 0; at < len; at++, expected += 2) {
		expected += strspn(expected, " ");
		(void)snprintf(byte, sizeof(byte), "%02x", bytes[at]);
		assert_memory_equal(byte, expected, 2);
	}
	assert_string_equal(expected, "");
}

static void locks_and_tickets_have_the_documented_bytes(void **state)
{
	(void)state;
	sample_has_bytes(3, lock_bytes);
	sample_has_bytes(4, ticket_bytes);
}

/* CRC-32C by its definition, one bit at a time. */
static uint32_t crc_slow(const unsigned char *data, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < 8 * len; i++) {
		uint32_t bit = (crc ^ (uint32_t)(data[i / 8] >> (i % 8))) & 1;

		crc = (crc >> 1) ^ (bit != 0 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void crc_is_crc32c(void **state)
{
	unsigned char bytes[RECORD_MAX];

	(void)state;
	assert_int_equal(crc_slow((const unsigned char *)"123456789", 9), 0xe3069283);
	for (size_t i = 0; i < LENGTH(samples); i++) {
		size_t end = sample_encode(i, bytes) - 4;
		uint32_t crc = crc_slow(bytes, end);

		for (size_t b = 0; b < 4; b++)
			assert_int_equal(bytes[end + b], (unsigned char)(crc >> (8 * b)));
	}
}

/* Gives changed bytes the checksum they would have if somebody had written them on purpose. */
static void crc_repair(unsigned char *bytes, size_t len)
{
	uint32_t crc = crc_slow(bytes, len - 4);

	for (size_t b = 0; b < 4; b++)
		bytes[len - 4 + b] = (unsigned char)(crc >> (8 * b));
}

/* Short numbers have one spelling, and none is longer than ten bytes. */
static void short_numbers_have_one_spelling(void **state)
{
	static const struct {
		uint64_t value;
		size_t len; /* of the bytes that must decode to it; 0: they must not */
		unsigned char bytes[11];
	} cases[] = {
		{ 0, 1, { 0 } },
		{ 127, 1, { 0x7f } },
		{ 128, 2, { 0x80, 0x01 } },
		{ 300, 2, { 0xac, 0x02 } },
		{ UINT64_MAX, 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 } },
		{ 2, 0, { 0x80, 0x00 } },
		{ 10, 0, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 } },
		{ 11, 0, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0x00 } },
	};
	struct record_day got;

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		size_t len = cases[i].len > 0 ? cases[i].len : cases[i].value;
		unsigned char bytes[RECORD_MAX] = { RECORD_DAY, 1 };

		memcpy(bytes + 2, cases[i].bytes, len);
		crc_repair(bytes, 2 + len + 2 + 4); /* and two fields more, which are 0 */
		assert_int_equal(record_decode(RECORD_DAY, (struct slice){ bytes, 2 + len + 2 + 4 }, &got),
				 cases[i].len > 0 ? 0 : -EBADMSG);
		if (cases[i].len == 0)
			continue;
		assert_int_equal(got.offset, cases[i].value);
		assert_int_equal(record_encode(RECORD_DAY, &got, bytes), 2 + len + 2 + 4);
		assert_memory_equal(bytes + 2, cases[i].bytes, len);
	}
}

static void truncated_record_is_refused_at_every_length(void **state)
{
	unsigned char bytes[RECORD_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		size_t len = sample_encode(i, bytes);

		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(decode_copy(samples[i].kind, bytes, cut), -EBADMSG);
	}
}

/* The same with a checksum that fits what is left: the fields themselves must be found missing. */
static void truncated_record_with_good_checksum_is_refused(void **state)
{
	unsigned char bytes[RECORD_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		size_t len = sample_encode(i, bytes);

		for (size_t cut = 6; cut < len; cut++) {
			(void)sample_encode(i, bytes);
			crc_repair(bytes, cut);
			assert_int_equal(decode_copy(samples[i].kind, bytes, cut), -EBADMSG);
		}
	}
}

static void any_flipped_bit_is_noticed(void **state)
{
	unsigned char bytes[RECORD_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		size_t len = sample_encode(i, bytes);

		for (size_t bit = 0; bit < 8 * len; bit++) {
			bytes[bit / 8] ^= (unsigned char)(1U << (bit % 8));
			assert_int_equal(decode_copy(samples[i].kind, bytes, len), -EBADMSG);
			bytes[bit / 8] ^= (unsigned char)(1U << (bit % 8));
		}
	}
}

/* Lengths inside the record that lie must not lead out of it. */
static void any_flipped_bit_with_good_checksum_does_no_harm(void **state)
{
	unsigned char bytes[RECORD_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		size_t len = sample_encode(i, bytes);

		for (size_t bit = 0; bit < 8 * (len - 4); bit++) {
			bytes[bit / 8] ^= (unsigned char)(1U << (bit % 8));
			crc_repair(bytes, len);
			assert_in_range(-decode_copy(samples[i].kind, bytes, len), 0, 133);
			bytes[bit / 8] ^= (unsigned char)(1U << (bit % 8));
		}
	}
}

static void record_of_another_kind_is_refused(void **state)
{
	unsigned char bytes[RECORD_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		size_t len = sample_encode(i, bytes);

		for (size_t k = 0; k < LENGTH(samples); k++)
			assert_int_equal(decode_copy(samples[k].kind, bytes, len), k == i ? 0 : -EBADMSG);
	}
}

/* A queue's record has two fields more since its version 2. */
static void fields_that_an_older_record_lacks_are_zero(void **state)
{
	unsigned char bytes[RECORD_MAX];
	const size_t len = 2 + 8 + 8 + 4;
	struct record_queue got;

	(void)state;
	assert_int_equal(record_encode(RECORD_QUEUE, &queue, bytes), len + 1 + 2);
	bytes[1] = 1;
	crc_repair(bytes, len);
	assert_int_equal(record_decode(RECORD_QUEUE, (struct slice){ bytes, len }, &got), 0);
	assert_int_equal(got.count, 3);
	assert_int_equal(got.min_deadline, -1);
	assert_int_equal(got.passed_rank, 0);
	assert_int_equal(got.passed, 0);
}

/* A pull request's has its writer since then. */
static void pull_request_of_an_older_version_has_no_writer(void **state)
{
	unsigned char bytes[RECORD_MAX];
	const size_t len = 2 + 8 + 8 + 8 + 1 + 8 + 4;
	struct record_pull got;

	(void)state;
	assert_int_equal(record_encode(RECORD_PULL, &pull, bytes), len + 1 + 5);
	bytes[1] = 1;
	crc_repair(bytes, len);
	assert_int_equal(record_decode(RECORD_PULL, (struct slice){ bytes, len }, &got), 0);
	assert_int_equal(got.head.len, 8);
	assert_int_equal(got.owner.len, 0);
}

static void record_of_a_newer_version_is_refused(void **state)
{
	unsigned char bytes[RECORD_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		size_t len = sample_encode(i, bytes);

		bytes[1] = 99;
		crc_repair(bytes, len);
		assert_int_equal(decode_copy(samples[i].kind, bytes, len), -EPROTONOSUPPORT);
	}
}

static void strings_have_limits(void **state)
{
	static const char many[70000] = "m";
	unsigned char bytes[RECORD_MAX];
	struct record_dir long_name = dir;
	struct record_event long_lock = event;

	(void)state;
	long_name.name = (struct slice){ many, 255 };
	assert_true(record_encode(RECORD_DIR, &long_name, bytes) > 255);
	long_name.name.len = 256;
	assert_int_equal(record_encode(RECORD_DIR, &long_name, bytes), -EMSGSIZE);
	long_lock.lock = (struct slice){ many, 4096 };
	assert_true(record_encode(RECORD_EVENT, &long_lock, bytes) > 4096);
	long_lock.lock.len = RECORD_MAX;
	assert_int_equal(record_encode(RECORD_EVENT, &long_lock, bytes), -EMSGSIZE);
	long_lock.lock.len = 65536;
	assert_int_equal(record_encode(RECORD_EVENT, &long_lock, bytes), -EMSGSIZE);
}

static int key_compare(const struct record_key *a, const struct record_key *b)
{
	int order = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);

	return order != 0 ? order : (int)a->len - (int)b->len;
}

static void keys_sort_as_the_numbers_in_them(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 255, 256, 65535, 65536, UINT32_MAX, INT64_MAX, UINT64_MAX };
	struct slice name = slice_of("repos/a");

	(void)state;
	for (size_t i = 1; i < LENGTH(numbers); i++) {
		uint64_t less = numbers[i - 1];
		uint64_t more = numbers[i];
		struct record_key pairs[][2] = {
			{ record_key_number(TABLE_DIR, less), record_key_number(TABLE_DIR, more) },
			{ record_key_event(0, less), record_key_event(0, more) },
			{ record_key_event(0, more), record_key_event(1, less) },
			{ record_key_ticket(name, 2, less), record_key_ticket(name, 2, more) },
			{ record_key_ticket(name, 1, more), record_key_ticket(name, 2, less) },
			{ record_key_held(TABLE_HELD, name, name, less),
			  record_key_held(TABLE_HELD, name, name, more) },
			{ record_key_due(5, DUE_LOCK, less), record_key_due(5, DUE_LOCK, more) },
			{ record_key_due(5, DUE_LOCK, more), record_key_due(6, DUE_LOCK, less) },
		};

		for (size_t p = 0; p < LENGTH(pairs); p++)
			assert_true(key_compare(&pairs[p][0], &pairs[p][1]) < 0);
	}
	struct record_key largest = record_key_number(TABLE_DIR, UINT64_MAX - 1);
	assert_true(record_number(largest.data + 1) == UINT64_MAX - 1);
}

/* "a" + "b" + "" must not be what "a" + "" + "b" is. */
static void holders_do_not_run_into_each_other(void **state)
{
	struct record_key first = record_key_held(TABLE_HELD, slice_of("ab"), slice_of("c"), 1);
	struct record_key second = record_key_held(TABLE_HELD, slice_of("a"), slice_of("bc"), 1);
	struct record_key prefix = record_key_holder(TABLE_HELD, slice_of("a"), slice_of("b"));

	(void)state;
	assert_true(key_compare(&first, &second) != 0);
	assert_true(memcmp(second.data, prefix.data, prefix.len) != 0);
}

static void key_after_is_the_next_one(void **state)
{
	struct record_key plain = record_key_of(TABLE_LOCK, slice_of("ab"));
	struct record_key high = record_key_of(TABLE_LOCK, slice_of("a\xff\xff"));
	struct record_key after;

	(void)state;
	after = record_key_after(record_key_slice(&plain));
	assert_true(key_compare(&plain, &after) < 0);
	assert_int_equal(after.len, plain.len + 1);
	after = record_key_after_prefix(record_key_slice(&plain));
	assert_memory_equal(after.data, "lac", after.len);
	after = record_key_after_prefix(record_key_slice(&high));
	assert_memory_equal(after.data, "lb", after.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_read_back),
		cmocka_unit_test(lock_fields_are_read_back),
		cmocka_unit_test(the_times_and_the_call_of_a_lock_are_read_back),
		cmocka_unit_test(counter_has_the_documented_bytes),
		cmocka_unit_test(locks_and_tickets_have_the_documented_bytes),
		cmocka_unit_test(crc_is_crc32c),
		cmocka_unit_test(short_numbers_have_one_spelling),
		cmocka_unit_test(truncated_record_is_refused_at_every_length),
		cmocka_unit_test(truncated_record_with_good_checksum_is_refused),
		cmocka_unit_test(any_flipped_bit_is_noticed),
		cmocka_unit_test(any_flipped_bit_with_good_checksum_does_no_harm),
		cmocka_unit_test(record_of_another_kind_is_refused),
		cmocka_unit_test(fields_that_an_older_record_lacks_are_zero),
		cmocka_unit_test(pull_request_of_an_older_version_has_no_writer),
		cmocka_unit_test(record_of_a_newer_version_is_refused),
		cmocka_unit_test(strings_have_limits),
		cmocka_unit_test(keys_sort_as_the_numbers_in_them),
		cmocka_unit_test(holders_do_not_run_into_each_other),
		cmocka_unit_test(key_after_is_the_next_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
