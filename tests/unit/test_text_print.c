/* How locks and tickets read: as lines, as JSON, field by field. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "scratch.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MS INT64_C(1000000)
#define OFFSET (INT64_C(1787222759) * ATLOCK_SECOND) /* lease time 0 is 2026-08-20T10:45:59Z */
#define META "reason=freeze\nnote=a=b\n"
#define PATH "repos/acme/infra/-/modules/vpc/-/production:vpc"

static struct atlock_view view_make(const char *path)
{
	static char owner[] = "alice", who[] = "build-17", host[] = "ci-1", meta[] = META;
	struct atlock_view view = {
		.state = ATLOCK_ACQUIRED,
		.priority = ATLOCK_NORMAL,
		.owner = owner,
		.who = who,
		.host = host,
		.meta = meta,
		.meta_len = strlen(meta),
		.uid = 1000,
		.pid = 4711,
		.token = 42,
		.version = 3,
		.id_time = 1787222759123456789,
		.id_random = 0xabc,
		.acquired_at = 123 * MS,
		.renewed_at = 60 * ATLOCK_SECOND,
		.expires_at = 1860 * ATLOCK_SECOND,
		.ttl = 1800 * ATLOCK_SECOND,
		.claim_by = 120 * ATLOCK_SECOND,
		.waiters = 2,
	};

	assert_int_equal(atlock_name_parse(path, &view.name, NULL), 0);
	return view;
}

static struct atlock_ticket ticket_make(void)
{
	static char owner[] = "bob", who[] = "pr:7", host[] = "ci-2";

	return (struct atlock_ticket){
		.ticket = 43,
		.priority = ATLOCK_HIGH,
		.owner = owner,
		.who = who,
		.host = host,
		.uid = 1001,
		.pid = 0,
		.since = 5 * ATLOCK_SECOND,
		.deadline = 605 * ATLOCK_SECOND,
		.ttl = ATLOCK_NEVER,
		.position = 3,
		.expected = 90 * ATLOCK_SECOND,
	};
}

static void assert_view_text(const struct atlock_view *view, const char *expected)
{
	size_t len = 0;
	char *text = text_of_view(view, OFFSET, &len);

	assert_non_null(text);
	assert_string_equal(text, expected);
	assert_int_equal(len, strlen(expected));
	free(text);
}

static void a_lock_reads_in_fixed_order(void **state)
{
	struct atlock_view view = view_make(PATH);

	(void)state;
	assert_view_text(&view, "id=lock_1787222759123456789_alice_00000abc\n"
				"state=acquired\n"
				"type=project\n"
				"repo=acme/infra\n"
				"dir=modules/vpc\n"
				"workspace=production\n"
				"project=vpc\n"
				"owner=alice\n"
				"who=build-17\n"
				"uid=1000\n"
				"host=ci-1\n"
				"pid=4711\n"
				"priority=normal\n"
				"token=42\n"
				"version=3\n"
				"acquired_at=2026-08-20T10:45:59.123Z\n"
				"renewed_at=2026-08-20T10:46:59.000Z\n"
				"expires_at=2026-08-20T11:16:59.000Z\n"
				"ttl=30m\n"
				"waiters=2\n" META);
}

static void a_pending_grant_says_until_when(void **state)
{
	struct atlock_view view = view_make("global/apply");
	static char empty[] = "";

	(void)state;
	view.state = ATLOCK_PENDING;
	view.expires_at = ATLOCK_NEVER;
	view.ttl = ATLOCK_NEVER;
	view.meta = empty;
	view.meta_len = 0;
	assert_view_text(&view, "id=lock_1787222759123456789_alice_00000abc\n"
				"state=pending\n"
				"type=global\n"
				"repo=\n"
				"dir=\n"
				"workspace=\n"
				"project=\n"
				"owner=alice\n"
				"who=build-17\n"
				"uid=1000\n"
				"host=ci-1\n"
				"pid=4711\n"
				"priority=normal\n"
				"token=42\n"
				"version=3\n"
				"acquired_at=2026-08-20T10:45:59.123Z\n"
				"renewed_at=2026-08-20T10:46:59.000Z\n"
				"expires_at=never\n"
				"ttl=never\n"
				"waiters=2\n"
				"claim_by=2026-08-20T10:47:59.000Z\n");
}

static void a_ticket_reads_in_fixed_order(void **state)
{
	struct atlock_ticket ticket = ticket_make();
	char *text;
	size_t len = 0;

	(void)state;
	text = text_of_ticket(&ticket, PATH, OFFSET, &len);
	assert_string_equal(text, "ticket=43\n"
				  "lock=" PATH "\n"
				  "state=pending\n"
				  "owner=bob\n"
				  "who=pr:7\n"
				  "uid=1001\n"
				  "host=ci-2\n"
				  "pid=0\n"
				  "priority=high\n"
				  "position=3\n"
				  "ahead=2\n"
				  "expected_wait=90s\n"
				  "since=2026-08-20T10:46:04.000Z\n"
				  "deadline=2026-08-20T10:56:04.000Z\n"
				  "ttl=never\n");
	assert_int_equal(len, strlen(text));
	free(text);
	ticket.expected = -1;
	text = text_of_ticket(&ticket, PATH, OFFSET, NULL);
	assert_non_null(strstr(text, "\nexpected_wait=unknown\n"));
	free(text);
}

static void every_value_is_one_line(void **state)
{
	static const struct {
		const char *key;
		const char *value;
	} cases[] = {
		{ "repo", "a%0Ab" },  { "dir", "100%25" },     { "workspace", "x:y" },
		{ "project", "p/q" }, { "owner", "al%0Aice" },
	};
	struct atlock_view view = view_make("repos/a%0Ab/-/100%25/-/x%3Ay:p%2Fq");
	static char owner[] = "al\nice";
	char value[64];

	(void)state;
	view.owner = owner;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(text_field(&view, OFFSET, cases[i].key, value, sizeof(value)), 0);
		assert_string_equal(value, cases[i].value);
	}
}

static void fields_are_found_by_key(void **state)
{
	static const struct {
		const char *key;
		const char *value;
	} cases[] = {
		{ "token", "42" },      { "expires_at", "2026-08-20T11:16:59.000Z" },
		{ "ttl", "30m" },       { "id", "lock_1787222759123456789_alice_00000abc" },
		{ "reason", "freeze" }, { "note", "a=b" },
		{ "type", "project" },  { "state", "acquired" },
	};
	static const char *const absent[] = {
		"", "toke", "tokens", "claim_by", "reaso", "freeze", "note=a", "position"
	};
	struct atlock_view view = view_make(PATH);
	char value[64];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(text_field(&view, OFFSET, cases[i].key, value, sizeof(value)), 0);
		assert_string_equal(value, cases[i].value);
	}
	for (size_t i = 0; i < COUNT(absent); i++)
		assert_int_equal(text_field(&view, OFFSET, absent[i], value, sizeof(value)), 1);
	assert_int_equal(text_field(&view, OFFSET, "reason", value, 7), 0);
	assert_int_equal(text_field(&view, OFFSET, "reason", value, 6), -ERANGE);
	assert_int_equal(text_field(&view, OFFSET, "token", value, 0), -ERANGE);
}

static json_t *json_read(char *text, size_t len)
{
	json_t *object;

	assert_non_null(text);
	assert_int_equal(len, strlen(text));
	assert_null(strchr(text, '\n'));
	object = json_loads(text, 0, NULL);
	assert_non_null(object);
	free(text);
	return object;
}

static const char *json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void a_lock_is_one_json_object(void **state)
{
	struct atlock_view view = view_make(PATH);
	size_t len = 0;
	char *text = json_of_view(&view, PATH, OFFSET, &len);
	json_t *object = json_read(text, len);
	json_t *meta = json_object_get(object, "meta");

	(void)state;
	assert_string_equal(json_text(object, "kind"), "lock");
	assert_string_equal(json_text(object, "lock"), PATH);
	assert_string_equal(json_text(object, "project"), "vpc");
	assert_string_equal(json_text(object, "ttl"), "30m");
	assert_int_equal(json_integer_value(json_object_get(object, "token")), 42);
	assert_int_equal(json_integer_value(json_object_get(object, "uid")), 1000);
	assert_null(json_object_get(object, "claim_by"));
	assert_int_equal(json_object_size(meta), 2);
	assert_string_equal(json_text(meta, "note"), "a=b");
	json_decref(object);
}

static void a_waiter_is_one_json_object(void **state)
{
	struct atlock_ticket ticket = ticket_make();
	size_t len = 0;
	char *text = json_of_ticket(&ticket, PATH, OFFSET, &len);
	json_t *object = json_read(text, len);

	(void)state;
	assert_string_equal(json_text(object, "kind"), "waiter");
	assert_string_equal(json_text(object, "lock"), PATH);
	assert_string_equal(json_text(object, "state"), "pending");
	assert_int_equal(json_integer_value(json_object_get(object, "ahead")), 2);
	assert_null(json_object_get(object, "meta"));
	json_decref(object);
}

/* JSON has no bytes: those that are no UTF-8 are spelled, everything else stays. */
static void json_spells_what_is_no_utf8(void **state)
{
	static const struct {
		const char *raw;
		const char *read;
	} cases[] = {
		{ "\xc3\xa4", "\xc3\xa4" },
		{ "\xf0\x9f\x94\x92", "\xf0\x9f\x94\x92" },
		{ "\xff", "%FF" },
		{ "a\xc3", "a%C3" },
		{ "\xc3\xa4\x80z", "\xc3\xa4%80z" },
		{ "\xc0\xaf", "%C0%AF" },
		{ "\xe0\x80\xaf", "%E0%80%AF" },
		{ "\xed\xa0\x80", "%ED%A0%80" },
		{ "\xef\xbf\xbf\xff", "\xef\xbf\xbf%FF" },
		{ "\xf4\x90\x80\x80", "%F4%90%80%80" },
		{ "\xf0\x9f\x94", "%F0%9F%94" },
		{ "\xe2\x82\x28", "%E2%82(" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char path[64];
		char meta[64];
		struct atlock_view view;
		size_t len = 0;
		json_t *object;
		char *text;

		snprintf(path, sizeof(path), "repos/%s/-/./-/default", cases[i].raw);
		snprintf(meta, sizeof(meta), "k=%s\n", cases[i].raw);
		view = view_make(path);
		view.meta = meta;
		view.meta_len = strlen(meta);
		text = json_of_view(&view, path, OFFSET, &len);
		object = json_read(text, len);
		assert_string_equal(json_text(object, "repo"), cases[i].read);
		assert_string_equal(json_text(json_object_get(object, "meta"), "k"), cases[i].read);
		snprintf(path, sizeof(path), "repos/%s/-/./-/default", cases[i].read);
		assert_string_equal(json_text(object, "lock"), path);
		json_decref(object);
	}
}

static void long_texts_fit(void **state)
{
	static char meta[ATLOCK_META_BYTES + 1];
	struct atlock_view view = view_make(PATH);
	char *text;
	size_t len = 0;

	(void)state;
	memset(meta, 'x', ATLOCK_META_BYTES);
	meta[1] = '=';
	meta[ATLOCK_META_BYTES - 1] = '\n';
	view.meta = meta;
	view.meta_len = ATLOCK_META_BYTES;
	text = text_of_view(&view, OFFSET, &len);
	assert_int_equal(len, strlen(text));
	assert_string_equal(text + len - ATLOCK_META_BYTES, meta);
	free(text);
}

static void times_are_rfc_3339(void **state)
{
	static const struct {
		int64_t wall;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ OFFSET + 123456789, "2026-08-20T10:45:59.123Z" },
		{ OFFSET + 999999999, "2026-08-20T10:45:59.999Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ INT64_MIN, "1677-09-21T00:12:43.145Z" },
		{ INT64_MAX - 1, "2262-04-11T23:47:16.854Z" },
		{ ATLOCK_NEVER, "never" },
	};
	char text[TEXT_TIME_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		text_time(cases[i].wall, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
	text_time(0, text, 5);
	assert_string_equal(text, "1970");
}

/* An instant so far off that no wall time says it is still printed. */
static void instants_do_not_overflow(void **state)
{
	struct atlock_view view = view_make(PATH);
	char value[64];

	(void)state;
	view.expires_at = INT64_MAX - 1;
	assert_int_equal(text_field(&view, OFFSET, "expires_at", value, sizeof(value)), 0);
	assert_string_equal(value, "never");
	view.expires_at = INT64_MIN;
	assert_int_equal(text_field(&view, -OFFSET, "expires_at", value, sizeof(value)), 0);
	assert_string_equal(value, "1677-09-21T00:12:43.145Z");
}

static void ids_of_the_longest_owner_fit(void **state)
{
	struct atlock_view view = view_make(PATH);
	char owner[ATLOCK_OWNER_MAX + 1];
	char id[ATLOCK_ID_MAX];

	(void)state;
	memset(owner, 'o', sizeof(owner) - 1);
	owner[sizeof(owner) - 1] = '\0';
	view.owner = owner;
	view.id_time = UINT64_MAX;
	view.id_random = UINT32_MAX;
	atlock_view_id(&view, id);
	assert_string_equal(id + strlen(id) - 10, "o_ffffffff");
	assert_int_equal(strncmp(id, "lock_18446744073709551615_o", 27), 0);
}

static void nothing_gives_nothing(void **state)
{
	struct atlock_view view = view_make(PATH);
	struct atlock_ticket ticket = ticket_make();
	char value[8] = "same";

	(void)state;
	assert_null(atlock_view_text(NULL, &view, NULL));
	assert_null(atlock_view_json(NULL, &view, NULL));
	assert_null(atlock_ticket_text(NULL, &view.name, &ticket, NULL));
	assert_null(atlock_ticket_json(NULL, &view.name, &ticket, NULL));
	assert_int_equal(atlock_view_field(NULL, &view, "token", value, sizeof(value)), -EINVAL);
	atlock_instant_print(NULL, 0, value, sizeof(value));
	assert_string_equal(value, "");
}

static void clock_at_offset(void *arg, struct atlock_time *out)
{
	(void)arg;
	out->steady = 0;
	out->wall = OFFSET;
}

struct bench {
	char *dir;
	struct atlock *al;
	struct atlock_caller caller;
};

static int bench_open(void **state)
{
	static const struct atlock_setup setup = {
		.manual = true, .clock = clock_at_offset, .host = "ci-1", .seed = 1
	};
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->dir = scratch_new();
	assert_int_equal(atlock_open(&bench->al, bench->dir, &setup, NULL), 0);
	assert_int_equal(atlock_caller_init(&bench->caller, "alice", "build-17", 1000), 0);
	*state = bench;
	return 0;
}

static int bench_close(void **state)
{
	struct bench *bench = *state;

	atlock_close(bench->al);
	scratch_remove(bench->dir);
	free(bench);
	return 0;
}

static void what_was_written_is_read(void **state)
{
	static const char text[] = "reason=freeze\nttl=1h\n4711\n";
	struct bench *bench = *state;
	struct atlock_name name;
	struct atlock_request request = {
		.name = &name, .caller = &bench->caller, .text = text, .text_len = strlen(text)
	};
	struct atlock_view view;
	char value[64];
	char *read;
	size_t len;

	assert_int_equal(atlock_name_parse(PATH, &name, NULL), 0);
	assert_int_equal(atlock_acquire(bench->al, &request, NULL, NULL), 0);
	assert_int_equal(atlock_get(bench->al, &name, &view), 0);
	read = atlock_view_text(bench->al, &view, &len);
	assert_non_null(strstr(read, "\nacquired_at=2026-08-20T10:45:59.000Z\n"));
	assert_non_null(
		strstr(read, "\nexpires_at=2026-08-20T11:45:59.000Z\nttl=1h\nwaiters=0\nreason=freeze\nnote=4711\n"));
	free(read);
	assert_int_equal(atlock_view_field(bench->al, &view, "note", value, sizeof(value)), 0);
	assert_string_equal(value, "4711");
	atlock_instant_print(bench->al, view.expires_at, value, sizeof(value));
	assert_string_equal(value, "2026-08-20T11:45:59.000Z");
	atlock_instant_print(bench->al, ATLOCK_NEVER, value, sizeof(value));
	assert_string_equal(value, "never");
	atlock_view_clear(&view);
}

static void a_path_of_custom_is_looked_up(void **state)
{
	struct bench *bench = *state;
	struct atlock_name name;
	struct atlock_request request = { .name = &name, .caller = &bench->caller };
	struct atlock_view view;
	struct atlock_dir dir;
	json_t *object;
	char *text;
	size_t len = 0;

	assert_int_equal(atlock_dir_make(bench->al, 0, "team a", &bench->caller, 0755, 1000, &dir, NULL), 0);
	assert_int_equal(atlock_resolve(bench->al, "custom/team a/lock", &name, NULL), 0);
	assert_int_equal(atlock_acquire(bench->al, &request, NULL, NULL), 0);
	assert_int_equal(atlock_get(bench->al, &name, &view), 0);
	text = atlock_view_json(bench->al, &view, &len);
	object = json_read(text, len);
	assert_string_equal(json_text(object, "lock"), "custom/team a/lock");
	assert_string_equal(json_text(object, "type"), "custom");
	assert_string_equal(json_text(object, "repo"), "");
	json_decref(object);
	atlock_view_clear(&view);
}

static void waiters_are_printed_with_their_lock(void **state)
{
	struct bench *bench = *state;
	struct atlock_name name;
	struct atlock_caller other;
	struct atlock_request request = { .name = &name, .caller = &bench->caller, .priority = ATLOCK_HIGH };
	struct atlock_ticket ticket;
	uint64_t number;
	json_t *object;
	char *text;
	size_t len = 0;

	assert_int_equal(atlock_name_parse("global/apply", &name, NULL), 0);
	assert_int_equal(atlock_acquire(bench->al, &request, NULL, NULL), 0);
	assert_int_equal(atlock_caller_init(&other, "bob", "pr:7", 1001), 0);
	request.caller = &other;
	assert_int_equal(atlock_enqueue(bench->al, &request, &number, NULL, NULL), 0);
	assert_int_equal(atlock_ticket_get(bench->al, &name, number, NULL, NULL, &ticket), 0);
	text = atlock_ticket_text(bench->al, &name, &ticket, &len);
	assert_non_null(strstr(text, "\nlock=global/apply\nstate=pending\nowner=bob\nwho=pr:7\nuid=1001\nhost=ci-1\n"));
	assert_non_null(strstr(text, "\npriority=high\nposition=1\nahead=0\n"));
	free(text);
	text = atlock_ticket_json(bench->al, &name, &ticket, &len);
	object = json_read(text, len);
	assert_string_equal(json_text(object, "lock"), "global/apply");
	json_decref(object);
	atlock_ticket_clear(&ticket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_reads_in_fixed_order),
		cmocka_unit_test(a_pending_grant_says_until_when),
		cmocka_unit_test(a_ticket_reads_in_fixed_order),
		cmocka_unit_test(every_value_is_one_line),
		cmocka_unit_test(fields_are_found_by_key),
		cmocka_unit_test(a_lock_is_one_json_object),
		cmocka_unit_test(a_waiter_is_one_json_object),
		cmocka_unit_test(json_spells_what_is_no_utf8),
		cmocka_unit_test(long_texts_fit),
		cmocka_unit_test(times_are_rfc_3339),
		cmocka_unit_test(instants_do_not_overflow),
		cmocka_unit_test(ids_of_the_longest_owner_fit),
		cmocka_unit_test(nothing_gives_nothing),
		cmocka_unit_test_setup_teardown(what_was_written_is_read, bench_open, bench_close),
		cmocka_unit_test_setup_teardown(a_path_of_custom_is_looked_up, bench_open, bench_close),
		cmocka_unit_test_setup_teardown(waiters_are_printed_with_their_lock, bench_open, bench_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
