/* What people write into locks: what is understood, what is kept, what is refused and how that is said. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "meta.h"
#include "text.h"

#define M (60 * ATLOCK_SECOND)
#define H (60 * M)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A copy in a block of just its size, so that a read beyond its end is seen. */
static char *bare_copy(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	return copy;
}

static int parse(const char *text, size_t len, struct text_change *out, struct atlock_why *why)
{
	char *copy = bare_copy(text, len);
	int err;

	memset(why, 0, sizeof(*why));
	err = text_parse(copy, len, out, why);
	free(copy);
	return err;
}

static void assert_meta(const char *text, const char *meta)
{
	struct text_change change;
	struct atlock_why why;

	assert_int_equal(parse(text, strlen(text), &change, &why), 0);
	assert_string_equal(change.meta, meta);
	assert_int_equal(change.meta_len, strlen(meta));
	text_change_free(&change);
}

static void assert_refused(const char *text, size_t len, int err, enum atlock_code code, const char *says)
{
	struct text_change change;
	struct atlock_why why;

	assert_int_equal(parse(text, len, &change, &why), err);
	assert_int_equal(why.code, code);
	if (!strstr(why.text, says))
		fail_msg("\"%s\" does not say \"%s\"", why.text, says);
	assert_null(change.meta);
}

static void nothing_asks_for_nothing(void **state)
{
	static const char *const texts[] = { "", "\n", "\n\n\n" };
	struct text_change change;
	struct atlock_why why;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_int_equal(parse(texts[i], strlen(texts[i]), &change, &why), 0);
		assert_true(change.ttl == 0 && change.renew == 0 && change.timeout == 0);
		assert_int_equal(change.priority, -1);
		assert_string_equal(change.owner, "");
		assert_string_equal(change.who, "");
		assert_string_equal(change.meta, "");
		text_change_free(&change);
	}
	assert_int_equal(text_parse(NULL, 0, &change, NULL), 0);
	text_change_free(&change);
	assert_int_equal(text_parse(NULL, 1, &change, &why), -EINVAL);
}

static void understood_keys_are_not_kept(void **state)
{
	static const char text[] = "ttl=90m\ntimeout=never\npriority=high\nowner=bob\nwho=build-17";
	struct text_change change;
	struct atlock_why why;

	(void)state;
	assert_int_equal(parse(text, strlen(text), &change, &why), 0);
	assert_true(change.ttl == 90 * M);
	assert_true(change.timeout == ATLOCK_NEVER);
	assert_int_equal(change.priority, ATLOCK_HIGH);
	assert_string_equal(change.owner, "bob");
	assert_string_equal(change.who, "build-17");
	assert_string_equal(change.meta, "");
	text_change_free(&change);

	assert_int_equal(parse("ttl=never\nttl=2h\n", 17, &change, &why), 0);
	assert_true(change.ttl == 2 * H);
	text_change_free(&change);
	assert_int_equal(parse("renew=60s", 9, &change, &why), 0);
	assert_true(change.renew == M && change.ttl == 0);
	text_change_free(&change);
}

static void own_keys_are_kept_in_order(void **state)
{
	(void)state;
	assert_meta("b=2\na=1", "b=2\na=1\n");
	assert_meta("reason=freeze until monday\npull=123\nurl=https://host/a?b=c\n",
		    "reason=freeze until monday\npull=123\nurl=https://host/a?b=c\n");
	/* A password in an address, reason or note is not kept; what other keys mean is the user's affair. */
	assert_meta("a=1\nurl=https://bot:t@ken@host/x?y=@z\nb=2\n", "a=1\nurl=https://host/x?y=@z\nb=2\n");
	assert_meta("url=https://bot:token@host\n", "url=https://host\n");
	assert_meta("url=bot@host\n", "url=bot@host\n");
	assert_meta("a=1\nurl=bot:token@host:acme/infra.git\nb=2\n", "a=1\nurl=host:acme/infra.git\nb=2\n");
	assert_meta("url=git@host:acme/infra.git\nx=u:p@h:p\n", "url=git@host:acme/infra.git\nx=u:p@h:p\n");
	assert_meta("dsn=db://u:p@host\nurl=\n", "dsn=db://u:p@host\nurl=\n");
	assert_meta("url=https:/u:PW@h\nreason=for https://u:P/W@h/x\nzz=1\n",
		    "url=https:/h\nreason=for https://h/x\nzz=1\n");
	assert_meta("see //u:PW@h\nreason=ask bob@corp:now\n", "note=see //h\nreason=ask bob@corp:now\n");
	assert_meta("a=1\n\nb=2\na=3\n", "a=3\nb=2\n");
	assert_meta("empty=\n", "empty=\n");
	assert_meta("_x.Y-9=tab\there, 100 %\n", "_x.Y-9=tab\there, 100 %\n");
	assert_meta("k==\n", "k==\n");
	assert_meta("bytes=\xff\xc3\xa4\n", "bytes=\xff\xc3\xa4\n");
}

static void a_line_without_equals_is_a_note(void **state)
{
	(void)state;
	assert_meta("4711\n", "note=4711\n");
	assert_meta("4711", "note=4711\n");
	assert_meta("one\na=1\ntwo\n\nthree", "note=one; two; three\na=1\n");
	assert_meta("one\nnote=two\n", "note=two\n");
	assert_meta("one\nnote=two\nthree\nfour\n", "note=three; four\n");
}

static void what_is_kept_can_be_written_again(void **state)
{
	static const char *const texts[] = { "b=2\na=1\n", "note=one; two\n", "pull=7\nk=a=b\nempty=\n" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_meta(texts[i], texts[i]);
}

static void bad_lines_are_refused_by_number(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{ "a=1\nttl=soon", "line 2" },
		{ "ttl=", "line 1" },
		{ "ttl=0", "above 0" },
		{ "ttl=-5s", "line 1" },
		{ "ttl=106752d", "too long" },
		{ "renew=never", "line 1" },
		{ "renew=0s", "line 1" },
		{ "timeout=0", "line 1" },
		{ "timeout=10x", "90s" },
		{ "\n\npriority=urgent\n", "line 3" },
		{ "priority=", "critical" },
		{ "priority=HIGH", "critical" },
		{ "owner=", "owner" },
		{ "owner=a\tb", "owner" },
		{ "who=", "who=" },
		{ "who=sid:1", "who=" },
		{ "who=flock:1", "who=" },
		{ "who=user", "who=" },
		{ "who=pid:0", "who=" },
		{ "who=a/b", "a%2Fb" },
		{ "who=a\tb", "who=" },
		{ "pull=", "line 1" },
		{ "pull=0", "line 1" },
		{ "pull=+5", "line 1" },
		{ "pull=12x", "line 1" },
		{ "pull=99999999999999999999", "line 1" },
		{ "a=1\n=2\n", "line 2" },
		{ "a b=1\n", "note=TEXT" },
		{ " a=1\n", "no key" },
		{ "1a=1\n", "no key" },
		{ "-a=1\n", "no key" },
		{ "\xc3\xa4=1\n", "no key" },
		{ "a=1\ntoken=5\n", "line 2" },
		{ "ttl=1h\nrenew=1h\n", "one of them" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_refused(cases[i].text, strlen(cases[i].text), -EINVAL, ATLOCK_INVALID_REQUEST, cases[i].says);
}

static void control_bytes_are_refused(void **state)
{
	char text[] = "ok=1\na=?b\n";

	(void)state;
	for (int c = 0; c < 256; c++) {
		if (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f))
			continue;
		text[7] = (char)c;
		assert_refused(text, strlen("ok=1\na=?b\n"), -EINVAL, ATLOCK_INVALID_REQUEST, "line 2");
	}
	assert_refused("note\r\n", 6, -EINVAL, ATLOCK_INVALID_REQUEST, "line 1");
	assert_refused("k\x01=v", 4, -EINVAL, ATLOCK_INVALID_REQUEST, "control byte");
}

static void printed_keys_cannot_be_written(void **state)
{
	static const char *const keys[] = {
		"id",       "state",  "type",  "repo",     "dir",         "workspace",  "project",    "uid",
		"host",     "pid",    "token", "version",  "acquired_at", "renewed_at", "expires_at", "waiters",
		"claim_by", "ticket", "lock",  "position", "ahead",       "since",      "deadline",   "expected_wait",
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++) {
		snprintf(text, sizeof(text), "%s=1", keys[i]);
		assert_refused(text, strlen(text), -EINVAL, ATLOCK_INVALID_REQUEST, "the file system");
	}
}

/* Fills `out` with lines "k<from>=v" and so on. */
static size_t make_keys(char *out, size_t size, int from, int count)
{
	size_t n = 0;

	for (int i = from; i < from + count; i++)
		n += (size_t)snprintf(out + n, size - n, "k%d=v\n", i);
	return n;
}

static void a_lock_has_so_many_keys(void **state)
{
	char text[1024];
	size_t len = make_keys(text, sizeof(text), 0, ATLOCK_META_KEYS);
	char *kept = strndup(text, len);

	(void)state;
	assert_meta(text, kept);
	snprintf(text + len, sizeof(text) - len, "k3=v\nttl=1h\n");
	assert_meta(text, kept);
	free(kept);
	len = make_keys(text, sizeof(text), 0, ATLOCK_META_KEYS + 1);
	assert_refused(text, len, -EDQUOT, ATLOCK_QUOTA, "64 keys");
}

/* Makes a text of `size` bytes that begins with `head`. */
static void fill(char *out, size_t size, const char *head)
{
	memset(out, 'x', size);
	for (size_t i = 0; head[i]; i++)
		out[i] = head[i];
}

static void a_lock_has_so_many_bytes(void **state)
{
	static char text[ATLOCK_META_BYTES + 8];
	struct text_change change;
	struct atlock_why why;

	(void)state;
	fill(text, sizeof(text), "k=");
	assert_int_equal(parse(text, ATLOCK_META_BYTES - 1, &change, &why), 0);
	assert_int_equal(change.meta_len, ATLOCK_META_BYTES);
	text_change_free(&change);
	assert_refused(text, ATLOCK_META_BYTES, -EDQUOT, ATLOCK_QUOTA, "16385 bytes");
	/* Without its '=' it is a note, whose key takes bytes too. */
	text[1] = 'x';
	assert_refused(text, ATLOCK_META_BYTES, -EDQUOT, ATLOCK_QUOTA, "16384");
	assert_refused(text, sizeof(text), -EDQUOT, ATLOCK_QUOTA, "16384");
	for (size_t i = 1; i < sizeof(text); i += 2)
		text[i] = '\n';
	assert_refused(text, sizeof(text), -EDQUOT, ATLOCK_QUOTA, "16384");
}

static void long_values_are_refused(void **state)
{
	static const struct {
		const char *key;
		size_t good;
	} cases[] = { { "owner=", ATLOCK_OWNER_MAX }, { "who=", ATLOCK_WHO_MAX } };
	char text[4096];
	struct text_change change;
	struct atlock_why why;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t head = strlen(cases[i].key);

		fill(text, sizeof(text), cases[i].key);
		assert_int_equal(parse(text, head + cases[i].good, &change, &why), 0);
		text_change_free(&change);
		assert_refused(text, head + cases[i].good + 1, -EINVAL, ATLOCK_INVALID_REQUEST, "line 1");
		assert_refused(text, sizeof(text), -EINVAL, ATLOCK_INVALID_REQUEST, "line 1");
	}
	memset(text, 'k', META_KEY_MAX + 1);
	text[META_KEY_MAX] = '=';
	assert_int_equal(parse(text, META_KEY_MAX + 1, &change, &why), 0);
	text_change_free(&change);
	text[META_KEY_MAX] = 'k';
	text[META_KEY_MAX + 1] = '=';
	assert_refused(text, META_KEY_MAX + 2, -EINVAL, ATLOCK_INVALID_REQUEST, "no key");
}

static void merging_replaces_in_place(void **state)
{
	static const struct {
		const char *old;
		const char *new;
		const char *merged;
	} cases[] = {
		{ "", "", "" },
		{ "a=1\n", "", "a=1\n" },
		{ "", "a=1\n", "a=1\n" },
		{ "a=1\nb=2\nc=3\n", "d=4\nb=5\n", "a=1\nb=5\nc=3\nd=4\n" },
		{ "a=1\n", "a=\n", "a=\n" },
		{ "ab=1\n", "a=2\n", "ab=1\na=2\n" },
	};
	struct atlock_why why;
	char *out;
	size_t len;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *old = bare_copy(cases[i].old, strlen(cases[i].old));
		char *new = bare_copy(cases[i].new, strlen(cases[i].new));

		assert_int_equal(meta_merge(old, strlen(cases[i].old), new, strlen(cases[i].new), &out, &len, &why), 0);
		assert_string_equal(out, cases[i].merged);
		assert_int_equal(len, strlen(cases[i].merged));
		free(out);
		free(old);
		free(new);
	}
	assert_int_equal(meta_merge(NULL, 0, NULL, 0, &out, &len, &why), 0);
	assert_string_equal(out, "");
	free(out);
}

static void merging_keeps_the_limits(void **state)
{
	static char big[ATLOCK_META_BYTES];
	char old[1024];
	char new[1024];
	size_t old_len = make_keys(old, sizeof(old), 0, ATLOCK_META_KEYS);
	size_t new_len = make_keys(new, sizeof(new), ATLOCK_META_KEYS - 1, 1);
	struct atlock_why why;
	char *out = NULL;
	size_t len;

	(void)state;
	assert_int_equal(meta_merge(old, old_len, new, new_len, &out, &len, &why), 0);
	free(out);
	new_len = make_keys(new, sizeof(new), ATLOCK_META_KEYS, 1);
	assert_int_equal(meta_merge(old, old_len, new, new_len, &out, &len, &why), -EDQUOT);
	assert_int_equal(why.code, ATLOCK_QUOTA);
	fill(big, sizeof(big), "k=");
	big[sizeof(big) - 1] = '\n';
	assert_int_equal(meta_merge(big, sizeof(big), new, new_len, &out, &len, &why), -EDQUOT);
	assert_non_null(strstr(why.text, "16384"));
}

/* Whatever is read is good to be read again, and nothing is read beyond its end. */
static void any_bytes_do_no_harm(void **state)
{
	static const char *const pieces[] = { "ttl=1h", "renew=1m", "who=",         "a=",      "\n",        "=",
					      "note",   "\xff",     "pull=12",      "x.y-z=1", "owner=bob", "%41",
					      "\t",     "\r",       "priority=low", "k" };
	char text[128];
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct text_change change;
		struct text_change again;
		struct atlock_why why;
		size_t len = 0;
		uint32_t n = (seed = seed * 1664525 + 1013904223) >> 29;

		for (uint32_t i = 0; i < n; i++) {
			for (const char *p = pieces[(seed = seed * 1664525 + 1013904223) >> 28]; *p; p++)
				text[len++] = *p;
		}
		if (parse(text, len, &change, &why)) {
			assert_string_not_equal(why.text, "");
			continue;
		}
		assert_int_equal(parse(change.meta, change.meta_len, &again, &why), 0);
		assert_string_equal(again.meta, change.meta);
		text_change_free(&again);
		text_change_free(&change);
	}
}

static void priorities_have_names(void **state)
{
	static const char *const bad[] = { "", "Low", "low ", "4", "urgent" };
	enum atlock_priority priority = ATLOCK_LOW;

	(void)state;
	for (unsigned int i = 0; i < ATLOCK_PRIORITIES; i++) {
		assert_int_equal(atlock_priority_parse(atlock_priority_name((enum atlock_priority)i), &priority), 0);
		assert_int_equal(priority, i);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(atlock_priority_parse(bad[i], &priority), -EINVAL);
	assert_int_equal(atlock_priority_parse(NULL, &priority), -EINVAL);
	assert_int_equal(atlock_priority_parse("low", NULL), -EINVAL);
	assert_string_equal(atlock_priority_name((enum atlock_priority)77), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_asks_for_nothing),
		cmocka_unit_test(understood_keys_are_not_kept),
		cmocka_unit_test(own_keys_are_kept_in_order),
		cmocka_unit_test(a_line_without_equals_is_a_note),
		cmocka_unit_test(what_is_kept_can_be_written_again),
		cmocka_unit_test(bad_lines_are_refused_by_number),
		cmocka_unit_test(control_bytes_are_refused),
		cmocka_unit_test(printed_keys_cannot_be_written),
		cmocka_unit_test(a_lock_has_so_many_keys),
		cmocka_unit_test(a_lock_has_so_many_bytes),
		cmocka_unit_test(long_values_are_refused),
		cmocka_unit_test(merging_replaces_in_place),
		cmocka_unit_test(merging_keeps_the_limits),
		cmocka_unit_test(any_bytes_do_no_harm),
		cmocka_unit_test(priorities_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
