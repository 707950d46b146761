/* Lines of events, against a plain way to write them: they are hashed, so that each must stay what it was, byte by byte. */
#include "event_line.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

#include "atlock.h"
#include "decimal.h"

#define LONGEST 40

static const unsigned char no_hash[EVENT_HASH];

static struct record_event event_of(struct slice lock)
{
	return (struct record_event){ .type = ATLOCK_EVENT_ACQUIRED, .prev = { no_hash, EVENT_HASH }, .lock = lock };
}

/* Of bytes below 0x80, which need no look at their neighbours, and of those that never begin a character. */
static void escape(const unsigned char *text, size_t len, char *out)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			out += sprintf(out, "\\%c", text[i]);
		else if (text[i] >= 0x80)
			out += sprintf(out, "%%%02X", text[i]);
		else if (text[i] < ' ' || text[i] == 0x7f)
			out += sprintf(out, "\\u%04x", text[i]);
		else
			*out++ = (char)text[i];
	}
	*out = '\0';
}

static void line_has(const unsigned char *text, size_t len)
{
	struct record_event event = event_of((struct slice){ text, len });
	char expected[6 * LONGEST + 64];
	char escaped[6 * LONGEST + 1];
	char line[EVENT_LINE_MAX];

	line[event_line(&event, NULL, (struct event_number){ .seq = 1 }, line)] = '\0';
	escape(text, len, escaped);
	(void)snprintf(expected, sizeof(expected), "\"type\":\"acquired\",\"lock\":\"%s\",\"prev\":", escaped);
	assert_non_null(strstr(line, expected));
}

static void one_odd_byte_is_escaped_wherever_it_stands(void **state)
{
	unsigned char text[LONGEST];

	(void)state;
	for (size_t len = 1; len <= LONGEST; len++) {
		for (size_t i = 0; i < len; i++)
			text[i] = (unsigned char)('a' + i % 26);
		line_has(text, len);
		for (size_t at = 0; at < len; at++) {
			unsigned char kept = text[at];

			/* From 0xc2 to 0xf4 a character may begin; alone it is none. */
			for (unsigned int byte = 0; byte <= UINT8_MAX; byte++) {
				text[at] = (unsigned char)byte;
				line_has(text, len);
			}
			text[at] = kept;
		}
	}
}

static void many_odd_bytes_are_escaped(void **state)
{
	static const unsigned char bytes[] = { 'a',  '"',  'b',  '\\', ' ', '~', 0x7f, 0x1f,
					       0x01, 0x80, 0xff, 'z',  '!', '[', ']',  '#' };
	unsigned char text[LONGEST];
	uint64_t random = 88172645463325252;

	(void)state;
	for (int turn = 0; turn < 20000; turn++) {
		size_t len = 1 + (size_t)turn % LONGEST;

		for (size_t i = 0; i < len; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			text[i] = bytes[random % (turn % 3 == 0 ? sizeof(bytes) : 3)];
		}
		line_has(text, len);
	}
}

static void characters_are_left_as_they_are(void **state)
{
	static const char text[] = "gr\xc3\xbc\xc3\x9f-\xe2\x82\xac-\xf0\x9f\x94\x92-and-more";
	struct record_event event = event_of((struct slice){ text, sizeof(text) - 1 });
	char line[EVENT_LINE_MAX];

	(void)state;
	line[event_line(&event, NULL, (struct event_number){ .seq = 1 }, line)] = '\0';
	assert_non_null(strstr(line, text));
}

static void numbers_have_all_their_digits(void **state)
{
	char expected[DECIMAL_MAX + 1];
	char got[DECIMAL_MAX + 1];
	uint64_t power = 1;

	(void)state;
	for (int digits = 1; digits <= DECIMAL_MAX; digits++, power *= 10) {
		const uint64_t values[] = { power - 1, power, power + 1, power + power / 7, UINT64_MAX / power };

		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			(void)snprintf(expected, sizeof(expected), "%" PRIu64, values[i]);
			*decimal_print(got, values[i]) = '\0';
			assert_string_equal(got, expected);
		}
	}
}

static void hashes_are_lower_case_hex(void **state)
{
	unsigned char hash[EVENT_HASH];
	struct record_event event = event_of((struct slice){ "x", 1 });
	char line[EVENT_LINE_MAX];
	char hex[2 * EVENT_HASH + 1];

	(void)state;
	event.prev.data = hash;
	for (unsigned int first = 0; first < 256; first += EVENT_HASH) {
		for (unsigned int i = 0; i < EVENT_HASH; i++) {
			hash[i] = (unsigned char)(first + i);
			(void)snprintf(hex + (size_t)2 * i, 3, "%02x", hash[i]);
		}
		size_t len = event_line(&event, NULL, (struct event_number){ .seq = 1 }, line);
		assert_memory_equal(line + len - 1 - strlen(hex), hex, strlen(hex));
		len = event_line_end(line, len, hash);
		assert_memory_equal(line + len - 3 - strlen(hex), hex, strlen(hex));
	}
}

static void a_released_lock_shows_when_it_was_renewed(void **state)
{
	struct record_event event = event_of((struct slice){ "x", 1 });
	struct record_released released = {
		.id_random = 0x0a1b9cf0,
		.id_time = 12,
		.acquired = INT64_C(1800000000000000000),
		.renewed = 0,
		.expires = ATLOCK_NEVER,
		.ttl = ATLOCK_NEVER,
		.host = { "h", 1 },
	};
	char line[EVENT_LINE_MAX];

	(void)state;
	event.type = ATLOCK_EVENT_RELEASED;
	event.owner = (struct slice){ "a\"b", 3 };
	line[event_line(&event, &released, (struct event_number){ .seq = 1 }, line)] = '\0';
	assert_non_null(strstr(line, "\"id\":\"lock_12_a\\\"b_0a1b9cf0\","));
	assert_non_null(strstr(
		line,
		"\"acquired_at\":\"2027-01-15T08:00:00.000Z\",\"renewed_at\":\"2027-01-15T08:00:00.000Z\",\"expires_at\":\"never\""));
	released.renewed = INT64_C(61005000000);
	released.expires = INT64_C(3661005000000);
	line[event_line(&event, &released, (struct event_number){ .seq = 1 }, line)] = '\0';
	assert_non_null(strstr(
		line,
		"\"acquired_at\":\"2027-01-15T08:00:00.000Z\",\"renewed_at\":\"2027-01-15T08:01:01.005Z\",\"expires_at\":\"2027-01-15T09:01:01.005Z\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_odd_byte_is_escaped_wherever_it_stands),
		cmocka_unit_test(many_odd_bytes_are_escaped),
		cmocka_unit_test(characters_are_left_as_they_are),
		cmocka_unit_test(numbers_have_all_their_digits),
		cmocka_unit_test(hashes_are_lower_case_hex),
		cmocka_unit_test(a_released_lock_shows_when_it_was_renewed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
